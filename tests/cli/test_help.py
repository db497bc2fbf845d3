"""Help on a terminal of 80 columns: what is written is what is read, no line is folded in mid-phrase."""

from __future__ import annotations

import pytest
from fakes.commands import typed

from numatune.cli.commands import COMMANDS

ALL = [(), *((name,) for name in COMMANDS), *(("profiles", action) for action in ("list", "show", "lint", "schema"))]


def told(argv: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = typed(*argv, "--help")
    assert done.code == 0
    return done.out


@pytest.mark.parametrize("argv", ALL, ids=" ".join)
def test_examples_are_as_they_were_written(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    narrow, wide = told(argv, 80, monkeypatch), told(argv, 200, monkeypatch)
    assert max(map(len, narrow.splitlines())) < 80
    start = wide.find("\nExamples\n")
    assert (start < 0) == (len(argv) > 1)
    assert start < 0 or narrow.endswith(wide[start:])


@pytest.mark.parametrize("argv", ALL, ids=" ".join)
def test_a_narrow_terminal_folds_and_loses_nothing(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    narrow, wide = told(argv, 50, monkeypatch), told(argv, 200, monkeypatch)
    assert narrow[narrow.find("Examples") :].split() == wide[wide.find("Examples") :].split()
