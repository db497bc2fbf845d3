"""What every codec promises, whatever the value: its own spelling is what was wanted, and going back gets there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.cpus import CpuSet
from numatune.settings.codecs import (
    AnyCodec,
    AtBoot,
    Bool,
    Choice,
    Cmdline,
    Codec,
    Count,
    CpuList,
    CpuMask,
    GroupSet,
    Int,
    Members,
    MemPolicy,
    Paired,
    Size,
    Speed,
    Tally,
    Text,
    UnitSet,
    Version,
    Words,
    agree,
    meets,
    shown,
)

NUMBERS = st.integers(0, 1 << 40).map(str)
SETS = st.frozensets(st.integers(0, 63)).map(lambda members: str(CpuSet(members)))
WORD = st.text("abcdefgh+_", min_size=1, max_size=8)

VALUES: dict[Codec, st.SearchStrategy[str]] = {
    Int(): NUMBERS,
    Count(): NUMBERS,
    Paired(): st.integers(1, 1 << 40).map(str),
    Bool(): st.sampled_from(["0", "1", "true", "false", "Y", "N", "on", "off"]),
    Choice(): WORD,
    Words(): st.lists(NUMBERS | WORD, min_size=1).map("\t".join),
    Text(): st.text(min_size=1),
    CpuList(): SETS,
    CpuMask(width=64): st.integers(0, (1 << 64) - 1).map(lambda bits: CpuSet.from_bits(bits).mask(64)),
    UnitSet(everything="0-63"): SETS,
    GroupSet(everything="0-63"): SETS,
    Size(): st.integers(0, 1 << 40).map(str) | st.just("max"),
    MemPolicy(): st.tuples(
        st.sampled_from(["bind", "interleave", "interleave=static", "weighted interleave"]), SETS.filter(bool)
    ).map(":".join),
    Tally(): NUMBERS,
    Speed(): st.sampled_from(["2.5 GT/s", "5.0 GT/s PCIe", "8 GT/s PCIe", "16", "32.0 GT/s PCIe", "64"]),
    Version(): st.lists(st.integers(0, 999).map(str), min_size=1, max_size=4).map(".".join),
}


def of(codec: Codec) -> st.SearchStrategy[tuple[Codec, str, str]]:
    return st.tuples(st.just(codec), VALUES[codec], VALUES[codec])


PAIRS = st.one_of([of(codec) for codec in VALUES])


def test_every_codec_is_tried_here_or_has_no_values_of_its_own():
    assert {type(codec) for codec in VALUES} | {Members, Cmdline, AtBoot} == set(AnyCodec.__args__)


@given(PAIRS)
def test_what_is_written_is_what_was_wanted(case: tuple[Codec, str, str]):
    codec, want, have = case
    writes = codec.spell(want, have)
    assert meets(codec, want, writes[-1])
    assert agree(codec, want, writes[-1])
    assert "" not in writes[:-1]


@given(PAIRS)
def test_going_back_ends_at_the_original(case: tuple[Codec, str, str]):
    codec, original, have = case
    assert agree(codec, original, codec.back(original, have)[-1])


@given(PAIRS)
def test_same_is_symmetric_and_what_is_shown_means_the_same(case: tuple[Codec, str, str]):
    codec, a, b = case
    assert agree(codec, a, b) == agree(codec, b, a)
    assert agree(codec, a, a)
    if not isinstance(codec, CpuMask):
        assert agree(codec, a, codec.show(a))
    if agree(codec, a, b) and not isinstance(codec, Size):
        assert codec.show(a) == codec.show(b)


@given(PAIRS)
def test_a_way_that_grows_shrinks_on_the_way_back(case: tuple[Codec, str, str]):
    codec, a, b = case
    there, back = codec.grows(a, b), codec.grows(b, a)
    assert (there is None) == (back is None)
    assert not (there and back)


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_a_pool_that_is_filled_is_on_its_way_between_the_ends_only(before: int, want: int, now: int):
    assert Count().between(str(before), str(want), str(now)) == (min(before, want) <= now <= max(before, want))


@given(st.frozensets(st.sampled_from("abcdef")), st.frozensets(st.sampled_from("abcdef")))
def test_members_come_and_go_one_by_one(original: frozenset[str], now: frozenset[str]):
    codec = Members()
    for words, reached in (
        (codec.spell(" ".join(original), " ".join(now)), now | original),
        (codec.back(" ".join(original), " ".join(now)), original),
    ):
        held = set(now)
        for word in " ".join(words).split():
            (held.add if word[0] == "+" else held.discard)(word[1:])
        assert held == reached


@pytest.mark.parametrize("codec", VALUES, ids=str)
@given(text=st.text(max_size=12))
def test_no_text_from_a_host_is_an_error(codec: Codec, text: str):
    shown(codec, text)
    agree(codec, text, "0")
    meets(codec, "0", text)


@given(st.data())
def test_a_number_with_an_operator_holds_on_its_side_only(data: Any):
    want, have = data.draw(st.integers(0, 100)), data.draw(st.integers(0, 100))
    assert Int(op=">=").holds(str(want), str(have)) == (have >= want)
    assert Int(op="<=").holds(str(want), str(have)) == (have <= want)
    assert Int().holds(str(want), str(have)) == (have == want)
