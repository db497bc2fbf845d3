"""Strict YAML: what YAML 1.1 would bend is kept or refused, and nothing that hides gets through."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import ProfileError
from numatune.profile import reader
from numatune.profile.scalars import Trap, plain
from numatune.profile.tree import Branch, Leaf, Row


def value(text: str) -> object:
    tree, problems = reader.read(f"x: {text}\n", "f.yaml")
    assert problems == ()
    node = tree.entries["x"].node
    assert isinstance(node, Leaf)
    return node.value


def mistakes(text: str) -> list[str]:
    try:
        return [str(problem) for problem in reader.read(text, "f.yaml")[1]]
    except ProfileError as error:
        return [str(problem) for problem in error.problems]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0000:41:00.0", "0000:41:00.0"),  # YAML 1.1: 2460.0
        ("1:30", "1:30"),  # 90
        ("off", "off"),  # false
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("2026-11-29", "2026-11-29"),  # a date
        ("0-3,8", "0-3,8"),
        ("180G", "180G"),
        ("10de", "10de"),
        ("1.2.3", "1.2.3"),
        ("'010'", "010"),
        ('"0x10"', "0x10"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("-5", -5),
        ("+5", 5),
        ("0", 0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("3.", 3.0),
    ],
)
def test_plain_scalars_are_those_of_yaml_1_2(written: str, meant: object) -> None:
    assert value(written) == meant
    assert type(value(written)) is type(meant)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("0x10", "write 16"),
        ("0o10", "write 8"),
        ("0b101", "write 5"),
        ("010", "write 10"),
        ("-010", "write -10"),
        ("1_000", "write 1000"),
        ("1e3", "in decimal"),
        ("1.5E-3", "in decimal"),
        (".inf", "in decimal"),
        (".NaN", "in decimal"),
        ("123456789012345678901", "in decimal"),
    ],
)
def test_numbers_that_readers_disagree_on_are_refused_with_a_hint(written: str, hint: str) -> None:
    (mistake,) = mistakes(f"a: {{b: [{written}]}}\n")
    assert mistake.startswith("f.yaml:1: a.b[0]: ")
    assert written in mistake
    assert hint in mistake


@pytest.mark.parametrize(
    "text", ["1" * 200_000, "1_" * 100_000, "1" * 99_999 + "." + "1" * 99_999, "0b" + "1" * 99_999]
)
def test_a_very_long_number_is_read_at_once(text: str) -> None:
    assert len(mistakes(f"a: {text}\n")) <= 1  # hours, were each digit tried as the last one before an exponent


def test_a_version_is_text_whatever_it_looks_like() -> None:
    tree, problems = reader.read("version: 2026.10\nname: 010\nwhy: 1e3\nrequires: 1_0\n", "f.yaml")
    assert problems == ()
    assert [entry.node.value for entry in tree.entries.values() if isinstance(entry.node, Leaf)] == [
        "2026.10",
        "010",
        "1e3",
        "1_0",
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: a: the key is there twice, first in line 1"),
        ("a: {b: 1, b: 2}\n", "f.yaml:1: a.b: the key is there twice"),
        ("a: !!python/object/apply:os.system [ls]\n", "f.yaml:1: a: the tag tag:yaml.org,2002:python/object"),
        ("a: !local 1\n", "f.yaml:1: a: the tag !local"),
        ("a: !!str 1\n", "f.yaml:1: a: the tag"),
        ("base: &b {x: 1}\na:\n  <<: *b\n", "f.yaml:3: a: the merge key <<"),
        ("a: 1\n---\nb: 1\n", "f.yaml:2: a second document"),
        ("a: *b\n", "f.yaml:1: a: *b, which names nothing above"),
        ("a: &a [*a]\n", "*a, which names nothing above"),
        ('a: "x\\0y"\n', "f.yaml:1: a: a control character"),
        ('a: "\\e[31m"\n', "a control character"),
        ('"a\\nb": 1\n', "the key 'a\\nb'"),
        ('"": 1\n', "the key ''"),
        ("a\u202eb: 1\n", "the key 'a\\u202eb'"),
        ("a: x\u2066y\n", "f.yaml:1: a: a control character"),
        ("? [1, 2]\n: 1\n", "a key that is no text"),
        ("a: {{ x }}\n", 'f.yaml:1: a: {{ without quotes; accepted: an expression in quotes: "{{ ... }}"'),
        ("a: {b: {{ x - 1 }}, c: 2}\n", "f.yaml:1: a.b: {{ without quotes"),
        ('"{{ x }}": 1\n', "an expression in the key"),
        ("a: >= 5\n", 'a value that begins with > is put in quotes: ">= 5"'),
        ("a: {b: >=5.15}\n", 'is put in quotes: ">=5.15"'),
        ("a: %x\n", 'a value that begins with % is put in quotes: "%x"'),
        ("a: @x\n", 'is put in quotes: "@x"'),
        ("a: [{b: *}, 1]\n", 'is put in quotes: "*"'),
        ("a:\n\tb: 1\n", "indent by blanks, not by tabs"),
        ("a: [1\n", "no YAML"),
        ("a: [1\nb: 2\n", "f.yaml:2: no YAML: did not find expected ',' or ']' while parsing a flow sequence"),
        ("a: [1\nb: 2\n", "that begins in line 1"),
        ("a: {name: eth[0-9]}\n", "(text that holds a bracket is put in quotes)"),
        ("a: 'x\nb: 1\n", "that begins in line 1 (a quote is opened there and never closed)"),
        ("a: 'it's'\n", "(count quotes and brackets)"),
        ("a:\n  b: 1\n   c: 2\n", "f.yaml:3: no YAML"),
        ("a:\n  b: 1\n   c: 2\n", "(the keys of a mapping begin in the same column)"),
        ("a:\n   b: 1\n  c: 2\n", "(the keys of a mapping begin in the same column)"),
        ("a:\n  b:1\n  c: 2\n", "(write KEY: VALUE, with a blank after the colon, in the line above)"),
        ("a:\n  b = 1\n  c: 2\n", "(write KEY: VALUE, with a blank after the colon, in the line above)"),
        ("a: 1\nb\n", "(write KEY: VALUE, with a blank after the colon)"),
        ("a: use: this\n", '(text that holds a colon and a blank is put in quotes: "a: b")'),
        ("a:\n  - b\n  c: 1\n", "(the items of a list begin with - in the same column)"),
        ("%YAML 1.1\n---\na: off\n", "a directive; accepted: YAML 1.2"),
        ("%TAG ! tag:example.org:\n---\na: 1\n", "a directive"),
        ("- a\n", "f.yaml:1: a list; accepted: a mapping"),
        ("hello\n", "the text 'hello'; accepted: a mapping"),
        ("", "an empty file"),
        ("# only a comment\n", "an empty file"),
        ("a: \x00\n", "f.yaml:1: a control character"),
        ("a: 1\nb: \x07\n", "f.yaml:2: a control character"),
        ("a: " + "[" * 40 + "]" * 40, "more than 32 levels"),
        ("x: '" + "a" * 300_000 + "'", "more than 256 KiB"),
    ],
)
def test_what_hides_or_breaks_is_refused(text: str, mistake: str) -> None:
    assert any(mistake in found for found in mistakes(text)), mistakes(text)


def test_a_billion_laughs_end_early() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (mistake,) = mistakes("\n".join(lines))
    assert "more than 20000 values once all aliases are followed" in mistake


def test_an_alias_is_the_value_that_it_names() -> None:
    tree, problems = reader.read("a: &x {k: [1, 2]}\nb: *x\n", "f.yaml")
    assert problems == ()
    assert tree.entries["a"].node == tree.entries["b"].node


def test_lines_are_those_of_keys_and_items() -> None:
    tree, _ = reader.read("a:\n  b:\n    - 1\n    - {c: 2}\n", "f.yaml")
    outer = tree.entries["a"].node
    assert isinstance(outer, Branch)
    assert outer.entries["b"].source.line == 2
    row = outer.entries["b"].node
    assert isinstance(row, Row)
    assert [item.source.line for item in row.items] == [3, 4]


def test_several_mistakes_are_told_at_once() -> None:
    assert [found.split(": ")[0] for found in mistakes("a: 010\nb: !x 1\nb: 1\nc: *d\n")] == [
        "f.yaml:1",
        "f.yaml:2",
        "f.yaml:3",
        "f.yaml:4",
    ]


def test_without_the_c_library_everything_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: {b: [0000:41:00.0, off, '{{ x }}'], c: &d [1]}\nwhen: {kernel: 6.10}\ne: *d\n"
    fast = reader.read(text, "f.yaml")
    monkeypatch.setattr(reader, "_LOADER", yaml.SafeLoader)
    assert reader.read(text, "f.yaml") == fast
    for broken in ("a: >= 5\n", "a: \x00\n", "a: [1\n", "", "a: 1\n---\nb: 1\n"):
        assert mistakes(broken)


@given(st.integers(-(10**18), 10**18))
def test_decimal_integers_are_themselves(number: int) -> None:
    assert plain(str(number)) == number


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20))
def test_quoted_text_is_itself_and_plain_text_never_changes_silently(text: str) -> None:
    assert value(json.dumps(text)) == text
    try:
        meant = plain(text)
    except Trap:
        return
    if isinstance(meant, str):
        assert meant == text


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        _, problems = reader.read(text, "f.yaml")
    except ProfileError as error:
        problems = error.problems
    assert all(found.where.startswith("f.yaml") for found in problems)
