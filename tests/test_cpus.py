from __future__ import annotations

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.cpus import LIMIT, CpuSet

MEMBERS = st.frozensets(st.integers(0, 200))
WIDE = st.frozensets(st.integers(0, 4095), max_size=400)


@given(WIDE)
def test_a_list_says_what_the_set_holds(members: frozenset[int]):
    assert frozenset(CpuSet.parse(str(CpuSet(members)))) == members


@given(WIDE)
def test_a_list_is_the_shortest_with_ascending_ranges(members: frozenset[int]):
    text = str(CpuSet(members))
    ranges = [tuple(map(int, part.split("-"))) for part in text.split(",") if part]
    assert all(pair[0] < pair[-1] for pair in ranges if len(pair) > 1)
    assert all(left[-1] + 1 < right[0] for left, right in pairwise(ranges))


@given(WIDE, st.integers(1, 200))
def test_a_mask_says_what_the_set_holds_at_any_width(members: frozenset[int], more: int):
    width = max(members, default=0) + more
    assert frozenset(CpuSet.parse_mask(CpuSet(members).mask(width))) == members


@given(MEMBERS, st.integers(201, 4096))
def test_a_mask_is_padded_to_the_width_in_groups_of_eight_digits(members: frozenset[int], width: int):
    groups = CpuSet(members).mask(width).split(",")
    assert len(groups) == -(-width // 32)
    assert all(len(group) == 8 for group in groups[1:])
    assert len(groups[0]) == -(-((width - 1) % 32 + 1) // 4)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 40), st.integers(1, 40))
def test_a_stride_takes_so_many_of_each_group(low: int, length: int, used: int, more: int):
    group = used + more - 1
    high = low + length
    expected = {cpu for cpu in range(low, high + 1) if (cpu - low) % group < used}
    assert set(CpuSet.parse(f"{low}-{high}:{used}/{group}")) == expected


@given(MEMBERS, MEMBERS)
def test_algebra_is_that_of_frozensets(left: frozenset[int], right: frozenset[int]):
    a, b = CpuSet(left), CpuSet(right)
    assert frozenset(a & b) == left & right
    assert frozenset(a | b) == left | right
    assert frozenset(a - b) == left - right
    assert frozenset(a ^ b) == left ^ right
    assert (a <= b) == (left <= right)
    assert (a < b) == (left < right)
    assert (a >= b) == (left >= right)
    assert a.isdisjoint(b) == left.isdisjoint(right)
    assert (a == b) == (left == right)
    assert len(a) == len(left)
    assert bool(a) == bool(left)
    assert list(a) == sorted(left)


@given(MEMBERS, MEMBERS)
def test_mixes_with_other_sets(left: frozenset[int], right: frozenset[int]):
    assert CpuSet(left) & right == left & right
    assert CpuSet(left) | right == left | right
    assert CpuSet(left) - right == left - right
    assert (CpuSet(left) <= right) == (left <= right)


@given(MEMBERS)
def test_hashes_like_the_frozenset_that_it_equals(members: frozenset[int]):
    assert CpuSet(members) == members
    assert hash(CpuSet(members)) == hash(members)


@given(MEMBERS, st.integers(0, 300))
def test_take_gives_the_lowest(members: frozenset[int], count: int):
    assert list(CpuSet(members).take(count)) == sorted(members)[:count]


@given(MEMBERS)
def test_survives_pickling_and_takes_no_change(members: frozenset[int]):
    made = CpuSet(members)
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  # our own bytes
    with pytest.raises(AttributeError):
        made.bits = 1


@given(MEMBERS, st.integers(-3, 300))
def test_membership(members: frozenset[int], cpu: int):
    assert (cpu in CpuSet(members)) == (cpu in members)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("\n", ()),
        ("  ", ()),
        ("0", (0,)),
        ("0-3,8\n", (0, 1, 2, 3, 8)),
        ("8,0-1", (0, 1, 8)),
        (" 1 , 3-4 ", (1, 3, 4)),
        ("0-7:1/2", (0, 2, 4, 6)),
        ("0-9:2/5", (0, 1, 5, 6)),
        ("3-3", (3,)),
        ("2-4:1/99999999999999999999", (2,)),
        ("2-4:99999999999999999999/99999999999999999999", (2, 3, 4)),
        ("1,1,1-2", (1, 2)),
    ],
)
def test_lists(text: str, expected: object):
    assert tuple(CpuSet.parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "3-1",
        "a",
        "0-",
        "-3",
        "5-x",
        "0-7:3/2",
        "0-7:0/2",
        "0-7:1",
        "0x3",
        "1,,2",
        "1,",
        "all",
        "N",
        "٣",
        "65536",
        "-1",
        "1_0",
        "+1",
        "1-2-3",
    ],
)
def test_what_is_no_list_is_refused_and_never_read_as_empty(text: str):
    with pytest.raises(ValueError, match="accepted"):
        CpuSet.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", ()),
        ("00000000,00000000", ()),
        ("3", (0, 1)),
        ("00000f", (0, 1, 2, 3)),
        ("1,00000000", (32,)),
        ("ff,ffffffff\n", tuple(range(40))),
        ("FF", tuple(range(8))),
        ("00000001,00000000,00000001", (0, 64)),
    ],
)
def test_masks(text: str, expected: object):
    assert tuple(CpuSet.parse_mask(text)) == expected


@pytest.mark.parametrize("text", ["", "0x3", "g", "1,,1", "123456789", "-1", "1 1", "+f", "1_0"])
def test_what_is_no_mask_is_refused(text: str):
    with pytest.raises(ValueError, match="no CPU mask"):
        CpuSet.parse_mask(text)


@pytest.mark.parametrize(
    ("width", "expected"), [(2, "3"), (24, "000003"), (32, "00000003"), (40, "00,00000003"), (64, "00000000,00000003")]
)
def test_masks_are_spelled_as_the_kernel_spells_them(width: int, expected: object):
    assert CpuSet([0, 1]).mask(width) == expected


def test_a_mask_never_drops_a_cpu():
    with pytest.raises(ValueError, match="CPU 8 does not fit a mask of 8 CPUs"):
        CpuSet([0, 8]).mask(8)


@pytest.mark.parametrize("member", [-1, LIMIT])
def test_numbers_that_no_cpu_has_are_refused(member: int):
    with pytest.raises(ValueError, match="accepted"):
        CpuSet([member])


def test_negative_bits_are_no_set():
    with pytest.raises(ValueError, match="no set of bits"):
        CpuSet.from_bits(-1)


def test_an_empty_set_has_neither_first_nor_last():
    for name in ("first", "last"):
        with pytest.raises(ValueError, match="empty"):
            getattr(CpuSet(), name)


def test_first_and_last():
    assert (CpuSet([3, 7, 40]).first, CpuSet([3, 7, 40]).last) == (3, 40)


def test_every_second_of_4096_cpus():
    even = CpuSet.parse("0-4095:1/2")
    assert len(even) == 2048
    assert len(even | CpuSet.parse("1-4095:1/2")) == 4096
    assert str(even | CpuSet.parse("1-4095:1/2")) == "0-4095"
    assert CpuSet.parse(str(even)) == even
    assert CpuSet.parse_mask(even.mask(4096)) == even
    assert even.mask(4096) == ",".join(["55555555"] * 128)


def test_many_strides_over_all_that_can_be_are_read_at_once():
    everything = CpuSet.parse(",".join([f"0-{LIMIT - 1}:1/2"] * 20_000))  # hours, were each member set one by one
    assert len(everything) == LIMIT // 2
