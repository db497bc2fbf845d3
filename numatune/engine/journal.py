"""What a run writes down before it touches the host, and after each write. One file a run, one JSON line a record.

The head and all intents go to disk in one piece with Ready, flushed with their folder; before that nothing of a run is
anywhere. Room for all that may follow is reserved then, as is room for the journal of a rollback, so that both can go
on when the disk is full. Reserved room reads as NULs: a journal ends at its first NUL.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable
from typing import Protocol

from numatune.engine import store, trust
from numatune.errors import StateError
from numatune.settings.journal import FORMAT, Ack, Intent, Ready, Record, RunEnd, RunStart
from numatune.settings.wire import dumps, from_data, to_data

SUFFIX = ".jsonl"
RESERVE = ".reserve"

_SLACK = 256
"""Bytes a record may need beyond the texts in it."""

_HEAD = 4096
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class Journal(Protocol):
    """Where a run's records go."""

    def append(self, record: Record, *, sync: bool = False) -> None:
        """Write one record after all others; with `sync` it is on disk when this returns. Raises StateError."""


def path_of(folder: str, run: int) -> str:
    """The journal of a run: 000001.jsonl."""
    return f"{folder}/{run:06}{SUFFIX}"


def reserve_of(folder: str, run: int) -> str:
    """The room that a run keeps for the journal of its rollback."""
    return f"{folder}/{run:06}{RESERVE}"


class FileJournal:
    """The journal of one run in the folder of all runs.

    `undone`: numbers of the runs that this one takes back, whose reserved room it may have.
    """

    def __init__(self, folder: str, undone: Iterable[int] = ()) -> None:
        self.path = ""
        self._folder = folder
        self._undone = tuple(undone)
        self._start: RunStart | None = None
        self._before_ready: list[Record] = []
        self._fd = -1
        self._end = 0
        self._room = ""

    def append(self, record: Record, *, sync: bool = False) -> None:
        """As the protocol says. Until Ready is written nothing is on disk, and a StateError leaves nothing behind."""
        match record:
            case RunStart():
                self.path, self._start = path_of(self._folder, record.run), record
        if self._fd < 0:
            self._before_ready.append(record)
            if isinstance(record, Ready):
                self._begin()
            return
        try:
            self._write(_line(record))
            if sync or isinstance(record, RunEnd):
                os.fdatasync(self._fd)
            if isinstance(record, RunEnd):
                self._close(record)
        except OSError as error:
            raise self._failed(error, "the run is cut off here; roll it back when there is room") from error

    def _begin(self) -> None:
        """Everything up to Ready, and room for the rest, on disk."""
        text = b"".join(_line(record) for record in self._before_ready)
        size = len(text) + _room(self._before_ready)
        takes_back = self._start is not None and self._start.kind == "rollback"
        try:
            _make_folders(self._folder)
            trust.check(self._folder)
            self._fd = self._opened()
            store.allocate(self._fd, size)
            if not takes_back:
                self._reserve(2 * size)
            self._write(text)
            os.fsync(self._fd)
            store.flush(self._folder)
        except OSError as error:
            self._abandon()
            raise self._failed(error, "nothing was changed") from error
        if takes_back:
            self._hand_on(size)

    def _opened(self) -> int:
        """A new file; or, for a rollback, the largest room that the runs it takes back have left for it."""
        if os.path.lexists(self.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.path)
        rooms = self._rooms()
        if rooms:
            self._room = max(rooms, key=os.path.getsize)
            os.rename(self._room, self.path)  # noqa: PTH104  # as above
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        os.fchmod(fd, 0o644)
        return fd

    def _rooms(self) -> list[str]:
        """Room that is there for this rollback: of the runs that it takes back, and of killed rollbacks of them."""
        names = os.listdir(self._folder) if self._undone else []  # noqa: PTH208  # pathlib costs a start-up
        numbers = [name.removesuffix(RESERVE) for name in names if name.endswith(RESERVE)]
        return [f"{self._folder}/{n}{RESERVE}" for n in numbers if n.isdecimal() and int(n) >= min(self._undone)]

    def _reserve(self, size: int) -> None:
        """Room for the journals of a rollback of this run, and of a second one that finishes it if it is killed."""
        fd = os.open(
            reserve_of(self._folder, self._start.run if self._start else 0),
            os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o644,
        )
        try:
            os.fchmod(fd, 0o644)
            store.allocate(fd, size)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _hand_on(self, size: int) -> None:
        """What this rollback does not need of its room is for the next one, should it be killed. If there is any."""
        try:
            os.ftruncate(self._fd, size)
            self._reserve(size)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(reserve_of(self._folder, self._start.run if self._start else 0))  # noqa: PTH108  # as above

    def _write(self, data: bytes) -> None:
        while data:
            written = os.pwrite(self._fd, data, self._end)
            self._end += written
            data = data[written:]

    def _close(self, end: RunEnd) -> None:
        """Give back the room that is no longer needed. A failure here costs nothing but that room."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._end)
            os.fsync(self._fd)
        os.close(self._fd)
        self._fd = -1
        done = [run for run in self._undone if end.result == "done"]
        if self._start and (end.changed == 0 or (self._start.kind == "rollback" and end.result == "done")):
            done.append(self._start.run)
        for run in done:
            with contextlib.suppress(OSError):
                os.unlink(reserve_of(self._folder, run))  # noqa: PTH108  # as above

    def _abandon(self) -> None:
        """As if this run had never been: what was reserved for it by another run is NULs again, and back in place."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            if self._room:
                os.pwrite(self._fd, bytes(self._end), 0)
                os.rename(self.path, self._room)  # noqa: PTH104  # as above
            else:
                os.unlink(self.path)  # noqa: PTH108  # as above
            os.unlink(reserve_of(self._folder, self._start.run if self._start else 0))  # noqa: PTH108  # as above
        os.close(self._fd)
        self._fd = -1

    def _failed(self, error: OSError, hint: str) -> StateError:
        found = "no room for the journal" if error.errno in _NO_ROOM else "the journal cannot be written"
        return StateError(self.path, f"{found}: {error.strerror}", hint=hint)


def note(path: str, record: Record) -> None:
    """Add a record to the journal of an earlier run, after its last whole line. Raises TrustError, StateError."""
    end = content(path).rfind(b"\n") + 1
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.pwrite(fd, _line(record), end)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise StateError(path, f"the journal cannot be written: {error.strerror}") from error


def read(path: str) -> tuple[Record, ...]:
    """All whole records; a torn last line is left out. Raises TrustError, StateError."""
    return parsed(path, content(path))


def content(path: str) -> bytes:
    """The bytes of a journal up to the room that it has reserved. Raises TrustError, StateError."""
    trust.check(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs a start-up
            return file.read().partition(b"\0")[0]
    except OSError as error:
        raise StateError(path, f"cannot be read: {error.strerror}") from error


def parsed(path: str, data: bytes) -> tuple[Record, ...]:
    """The records in `data`, which begins at a line of the journal at `path`. Raises StateError."""
    out: list[Record] = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            raw = json.loads(line)
        except ValueError as error:
            raise StateError(f"{path}:{number}", "is no record of a run") from error
        _check_format(path, raw)
        try:
            record = from_data(raw, object)
        except StateError as error:
            raise StateError(f"{path}:{number}", error.problems[0].found) from error
        if not isinstance(record, Record):
            raise StateError(f"{path}:{number}", f"{type(record).__name__} is no record of a run")
        out.append(record)
    return tuple(out)


def _check_format(path: str, raw: object) -> None:
    if not isinstance(raw, dict) or raw.get("@") != RunStart.__name__:
        return
    if raw.get("format", FORMAT) > FORMAT:
        raise StateError(
            path,
            f"has format {raw['format']}, written by numatune {raw.get('version', '')}",
            accepted=f"formats up to {FORMAT}",
            hint="use the newer numatune",
        )


def _line(record: Record) -> bytes:
    """One line. The format of a head is written out, though it is the default of this numatune."""
    if isinstance(record, RunStart):
        return json.dumps({**to_data(record), "format": record.format}, separators=(",", ":")).encode() + b"\n"
    return dumps(record).encode() + b"\n"


def _room(records: Iterable[Record]) -> int:
    """Bytes that the records after Ready may need: for each intent a second one and two Acks, and the end."""
    size = _HEAD
    for record in records:
        if isinstance(record, Intent):
            texts = len(dumps(record.before)) + sum(len(dumps(text)) for text in record.writes)
            acks = 2 * (len(dumps(Ack(record.seq, 0, None))) + texts + _SLACK)
            size += len(_line(record)) + acks + len(record.setting.id) + _SLACK
    return size


def _make_folders(folder: str) -> None:
    """Make what is missing of a folder's path, mode 0755 whatever the umask, each on disk. Raises OSError."""
    if os.path.isdir(folder):  # noqa: PTH112  # pathlib costs a start-up
        return
    above = os.path.dirname(folder)  # noqa: PTH120  # as above
    _make_folders(above)
    os.mkdir(folder, 0o755)  # noqa: PTH102  # as above
    os.chmod(folder, 0o755)  # noqa: PTH101, S103  # as above; root's journals are no secret
    store.flush(above)
