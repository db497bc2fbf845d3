"""A failing case cut down to what makes it fail: changes of the tree, profiles, and lines of these, in turn."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzz.case import ASKED, Case
from fuzz.judged import Verdict, judged

_DETAILS = re.compile(r"[0-9]+|'[^']*'|\"[^\"]*\"|/\S+")


def shrunk(case: Case, verdict: Verdict) -> Case:
    """The smallest case that was found which fails in the same way."""
    wrong = _kind(verdict)
    smaller = True
    while smaller:
        smaller = False
        for each in _less(case):
            with tempfile.TemporaryDirectory(prefix="numatune-fuzz-") as folder:
                if _kind(judged(each, Path(folder))) == wrong:
                    case, smaller = each, True
                    break
    return case


def _kind(verdict: Verdict) -> str:
    """What went wrong, without its numbers, names and paths."""
    last = verdict.trace.strip().splitlines()[-1:]
    return _DETAILS.sub("", " ".join([verdict.wrong, *last]))


def _less(case: Case) -> Iterator[Case]:
    """The case with one thing less, large things first."""
    if case.options:
        for option in case.options:
            yield dataclasses.replace(case, options=tuple(one for one in case.options if one != option))
    for name in case.files:
        if name != ASKED:
            yield dataclasses.replace(case, files={key: text for key, text in case.files.items() if key != name})
    for path in case.tree:
        yield dataclasses.replace(case, tree={key: held for key, held in case.tree.items() if key != path})
    for name, text in case.files.items():
        yield from (dataclasses.replace(case, files={**case.files, name: less}) for less in _shorter(text))


def _shorter(text: str | bytes) -> Iterator[str | bytes]:
    """Without some of its lines: halves, quarters, ..., single ones."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            return
        yield text
        return
    lines = text.splitlines(keepends=True)
    size = len(lines) // 2
    while size:
        for start in range(0, len(lines), size):
            yield "".join(lines[:start] + lines[start + size :])
        size //= 2
