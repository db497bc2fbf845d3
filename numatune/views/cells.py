"""The values of a row, or of a whole family of rows, in one cell: ``60 → 10``, ``60 (wanted 10)``, ``in 0-7 → 4``."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence

from numatune.cpus import CpuSet
from numatune.settings.codecs import Cmdline, CpuList
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, Outcome, Status
from numatune.settings.targets import OwnedFile
from numatune.views.style import Segment
from numatune.views.values import asked, current, held

Cell = tuple[Segment, ...]

_WITHIN = "in "
"""Before the set that the sets of a family are within."""


def planned(group: Sequence[Change]) -> Cell:
    """What is there, and what would be."""
    first = group[0]
    want = _span(group, (asked(change) for change in group))
    have = _span(group, (current(change) for change in group))
    match first.action:
        case Action.NONE:
            return _left(first, have, want)
        case Action.DELETE:
            return _arrow(have, None)
        case Action.CREATE if have is None and want in {None, "here"}:
            return (("create", ("bold",)),)
        case _:
            return _arrow(have, want)


def done(group: Sequence[Change], outcomes: Mapping[SettingId, Outcome]) -> Cell:
    """What was there, and what is now: ``60 → 10``; ``0 → 300 (wanted 512)``."""
    first = outcomes[group[0].setting.id]
    if first.status is Status.NOT_APPLICABLE or isinstance(group[0].setting.codec, Cmdline):
        return ()
    pairs = [(change, outcomes[change.setting.id]) for change in group]
    before = _span(group, (held(change, outcome.before) for change, outcome in pairs))
    after = _span(group, (held(change, outcome.held) for change, outcome in pairs))
    moved = _arrow(before, after) if before != after else ((after or "none", ()),)
    want = _span(group, (asked(change) for change in group))
    if first.status is Status.OK or (first.status is Status.PENDING and after is not None):
        return moved
    return (*moved, (f" (wanted {want})", ("dim",)))


def _left(change: Change, have: str | None, want: str | None) -> Cell:
    """Of what stays as it is. A parameter of the command line is told by its name and its status."""
    if change.status is Status.NOT_APPLICABLE or isinstance(change.setting.codec, Cmdline):
        return ()
    if change.status is Status.OK or (change.status is Status.PENDING and have is not None):
        return ((have or "", ()),)
    if have is None:
        return ((f"wanted {want}", ("dim",)),)
    return ((have or "none", ()), (f" (wanted {want})", ("dim",)))


def _arrow(before: str | None, after: str | None) -> Cell:
    if before == after and (after or "").startswith(_WITHIN):  # each member of a family moves, all within one set
        return (after or "none", ("bold",)), (", shared out anew", ("dim",))
    return (before or "none", ()), (" → ", ("dim",)), (after or "none", ("bold",)), *_same_set(before, after)


def _same_set(before: str | None, after: str | None) -> Cell:
    """Of a family that keeps its CPUs: all ran on the whole set and now each gets a part of it, or the reverse."""
    if before is not None and after == f"{_WITHIN}{before}":
        return ((", shared out", ("dim",)),)
    if after is not None and before == f"{_WITHIN}{after}":
        return ((", each on all", ("dim",)),)
    return ()


def _span(group: Sequence[Change], values: Iterable[str | None]) -> str | None:
    """One value for all: the common one; of sets what they are in; of files how many; else the first and the last."""
    held, setting = list(values), group[0].setting
    if isinstance(setting.target, OwnedFile):
        return _files([text for text in held if text])
    different = list(dict.fromkeys(held))
    if len(different) == 1:
        return different[0]
    if isinstance(setting.codec, CpuList):
        try:
            return f"{_WITHIN}{functools.reduce(operator.or_, map(CpuSet.parse, filter(None, different)))}"
        except ValueError:
            pass  # what a host holds need not be a list
    return f"{different[0] or 'none'} … {different[-1] or 'none'}"


def _files(texts: Sequence[str]) -> str | None:
    """Whole files, too long for a cell."""
    if not texts:
        return None
    of_bytes = f"of {sum(map(len, texts))} bytes"
    return f"a file {of_bytes}" if len(texts) == 1 else f"{len(texts)} files {of_bytes}"
