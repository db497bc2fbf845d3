"""The runs of this host as a stack: which there are, which are still to be taken back, which was cut off."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numatune import __version__
from numatune.engine import journal, trust, when
from numatune.errors import StateError, UsageError
from numatune.settings.journal import Ready, Record, RunEnd, RunKind, RunStart
from numatune.settings.plan import ProfileInfo

KEPT = 100
"""Runs that are kept, and besides them all that are still to be taken back."""

_HEAD_BYTES = 1 << 14
_TAIL_BYTES = 1 << 13


@dataclass(frozen=True, slots=True)
class Run:
    """The head and the end of a journal. `end` None: it was cut off, or is still going on."""

    path: str
    start: RunStart
    end: RunEnd | None

    @property
    def number(self) -> int:
        """Counts from 1 on this host."""
        return self.start.run


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a rollback takes back: these runs, and what must be read to do so (unfinished rollbacks of them too)."""

    numbers: tuple[int, ...]
    runs: tuple[Run, ...]


def listed(folder: str) -> tuple[Run, ...]:
    """All runs that touched the host, oldest first. Only the head and the end of each journal is read.

    Raises TrustError when others could have written one, StateError when one is of a newer format or no journal.
    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # pathlib costs a start-up
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StateError(folder, f"cannot be read: {error.strerror}") from error
    paths = [f"{folder}/{name}" for name in names if name.endswith(journal.SUFFIX)]
    return tuple(run for path in paths if (run := _head(path)) is not None)


def newest(folder: str) -> Run | None:
    """The newest run that touched the host, without a look at the others. Raises TrustError, StateError."""
    names = os.listdir(folder) if os.path.isdir(folder) else []  # noqa: PTH112, PTH208  # as above
    for name in sorted((name for name in names if name.endswith(journal.SUFFIX)), reverse=True):
        if run := _head(f"{folder}/{name}"):
            return run
    return None


def next_number(folder: str) -> int:
    """The number of a new run."""
    names = os.listdir(folder) if os.path.isdir(folder) else []  # noqa: PTH112, PTH208  # as above
    numbers = [name.removesuffix(journal.SUFFIX) for name in names if name.endswith(journal.SUFFIX)]
    return max((int(number) for number in numbers if number.isdecimal()), default=0) + 1


def head(  # noqa: PLR0913  # a run has that much to say of itself
    folder: str,
    kind: RunKind,
    boot_id: str,
    *,
    profiles: tuple[ProfileInfo, ...] = (),
    why: str = "",
    undoes: Iterable[int] = (),
) -> RunStart:
    """The head of a run that begins now."""
    return RunStart(
        run=next_number(folder),
        kind=kind,
        when=when.stamp(),
        who=who(),
        pid=os.getpid(),
        boot_id=boot_id,
        profiles=profiles,
        why=why,
        undoes=tuple(undoes),
        version=__version__,
    )


def who() -> str:
    """The login name of the caller; behind sudo, of the one who called sudo."""
    behind = os.environ.get("SUDO_USER")
    if behind:
        return behind
    import pwd  # noqa: PLC0415  # only who changes something asks

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def taken_back(runs: Iterable[Run]) -> frozenset[int]:
    """Numbers of the runs that a rollback has taken back for good."""
    return frozenset(number for run in runs if _is_done(run) for number in run.start.undoes)


def to_take_back(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The stack: runs that changed something, or were cut off, and were not taken back. The newest is the last."""
    gone = taken_back(runs)
    return tuple(
        run
        for run in runs
        if run.start.kind == "apply" and run.number not in gone and (run.end is None or run.end.changed)
    )


def cut_off(runs: Sequence[Run]) -> Run | None:
    """The newest run, when it never came to its end. Whether it is still going on, only the lock tells."""
    return runs[-1] if runs and runs[-1].end is None else None


def choose(runs: Sequence[Run], since: int | None = None, *, every: bool = False) -> Chosen:
    """What to take back: the newest run, or run `since` and all later ones, or every one. Empty when nothing is left.

    A rollback that did not get everything back names the runs that belong together: they are taken back together.
    Raises UsageError when `since` is no run that could be taken back.
    """
    stack = to_take_back(runs)
    numbers = {run.number for run in stack}
    if since is not None and since not in numbers:
        raise UsageError("--run", _not_there(runs, numbers, since))
    if every:
        chosen = set(numbers)
    elif since is not None:
        chosen = {number for number in numbers if number >= since}
    else:
        chosen = {stack[-1].number} if stack else set()
    open_ = [run for run in runs if run.start.kind == "rollback" and not _is_done(run)]
    for run in reversed(open_):
        if chosen & set(run.start.undoes):
            chosen |= numbers & set(run.start.undoes)
    involved = [run for run in runs if run.number in chosen or (run in open_ and chosen & set(run.start.undoes))]
    return Chosen(tuple(sorted(chosen)), tuple(involved))


def records(runs: Iterable[Run]) -> tuple[Record, ...]:
    """Everything that these runs wrote down, in order. Raises TrustError, StateError."""
    return tuple(record for run in runs for record in journal.read(run.path))


def prune(folder: str) -> tuple[int, ...]:
    """Drop the oldest journals beyond KEPT, but none that is still to be taken back, and room that nobody needs.

    The numbers of the runs that are dropped. Only with the lock held: a run that has just begun looks like none.
    """
    runs = listed(folder)
    needed = {run.number for run in to_take_back(runs)}
    old = [run for run in runs[:-KEPT] if run.number not in needed and not _serves(run, needed)]
    for run in old:
        _unlink(run.path)
    roomy = {journal.reserve_of(folder, run.number) for run in runs if run.number in needed or _serves(run, needed)}
    for name in os.listdir(folder) if runs else ():  # noqa: PTH208  # as above
        if name.endswith(journal.RESERVE) and f"{folder}/{name}" not in roomy:
            _unlink(f"{folder}/{name}")
    return tuple(run.number for run in old)


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108  # as above


def _serves(run: Run, needed: set[int]) -> bool:
    """An unfinished rollback of a run that is still to be taken back."""
    return run.start.kind == "rollback" and bool(needed & set(run.start.undoes))


def _is_done(run: Run) -> bool:
    return run.start.kind == "rollback" and run.end is not None and run.end.result == "done"


def _not_there(runs: Sequence[Run], numbers: set[int], since: int) -> str:
    known = next((run for run in runs if run.number == since), None)
    if known is None:
        found = f"there is no run {since}"
    elif known.start.kind == "rollback":
        found = f"run {since} is a rollback itself"
    else:
        found = f"run {since} is taken back already, or changed nothing"
    return f"{found}; runs that can be taken back: {', '.join(map(str, sorted(numbers))) or 'none'}"


def _head(path: str) -> Run | None:
    """Head and end of one journal; None when the run never touched the host."""
    trust.check(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs a start-up
            first = file.read(_HEAD_BYTES).partition(b"\0")[0].partition(b"\n")[0]
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
            tail = file.read()
    except OSError as error:
        raise StateError(path, f"cannot be read: {error.strerror}") from error
    starts = journal.parsed(path, first + b"\n") if _whole(first) else ()
    end = _end_in(path, tail)
    if starts and isinstance(starts[0], RunStart) and end is not None:
        return Run(path, starts[0], end)
    return _whole_run(path)


def _whole_run(path: str) -> Run | None:
    """As `_head`, by reading everything: for a run without an end, or with many repairs after it."""
    all_records = journal.read(path)
    start = next((record for record in all_records if isinstance(record, RunStart)), None)
    if start is None or not any(isinstance(record, Ready) for record in all_records):
        return None
    return Run(path, start, next((record for record in all_records if isinstance(record, RunEnd)), None))


def _end_in(path: str, tail: bytes) -> RunEnd | None:
    """The RunEnd among the last lines, if it is there."""
    for line in reversed(tail.partition(b"\0")[0].split(b"\n")[:-1]):
        if line.startswith(b'{"@":"RunEnd"'):
            found = journal.parsed(path, line + b"\n")[0]
            return found if isinstance(found, RunEnd) else None
    return None


def _whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
