"""One file of the state folder that holds one value: read with suspicion, put in place whole, with a format number."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import TypeVar

from numatune import __version__
from numatune.engine import trust
from numatune.errors import StateError
from numatune.host.local import LocalHost
from numatune.settings.wire import from_data, to_data

FORMAT = 2
"""Of every file that `save` writes. A newer numatune reads all older ones."""

_BROKEN = "move it away; the journals beside it are what rollback needs"

_ROOM = ".reserve"
_LINK = ".back"
_SLACK = 4096

T = TypeVar("T")


def load(path: str, expected: type[T], *, broken: str = _BROKEN) -> T | None:
    """What the file holds; None when there is none. `broken`: what to do about one that holds something else.

    Raises TrustError when others could have written it, StateError when it is of a newer format or no such file at all.
    """
    if not os.path.lexists(path):
        return None
    trust.check(path)
    read = LocalHost().read(path)
    if read.text is None:
        raise StateError(path, f"cannot be read: {os.strerror(read.errno)}")
    try:
        envelope = json.loads(read.text)
        made_by, format_ = str(envelope["numatune"]), int(envelope["format"])
    except (ValueError, KeyError, TypeError) as error:
        detail = f": {error}" if isinstance(error, ValueError) else ""
        raise StateError(path, f"is no file of numatune's{detail}", hint=broken) from error
    if format_ > FORMAT:
        raise StateError(
            path,
            f"has format {format_}, written by numatune {made_by}",
            accepted=f"formats up to {FORMAT}, which numatune {__version__} knows",
            hint="use the newer numatune",
        )
    try:
        return from_data(envelope.get("holds"), expected)
    except StateError as error:
        raise StateError(path, error.problems[0].found, hint=broken) from error


def save(path: str, value: object, mode: int = 0o644) -> None:
    """Put the file in place: a reader, and a power cut, find the old one or the new one. Raises StateError."""
    failed = LocalHost().replace(os.path.abspath(path), _spelled(value), mode)  # noqa: PTH100  # pathlib costs a start-up
    if failed:
        hint = "make room" if failed in {errno.ENOSPC, errno.EDQUOT} else ""
        raise StateError(path, f"cannot be written: {os.strerror(failed)}", hint=hint)


def put_back(kept: str, path: str) -> None:
    """Put a file that is there already in the place of `path`, as a second name of it: that needs no room.

    Where the file system has no such names, `kept` is moved instead. Raises StateError.
    """
    beside = path + _LINK
    _drop(beside)
    try:
        try:
            os.link(kept, beside)
            os.replace(beside, path)  # noqa: PTH105  # pathlib costs a start-up
        except OSError:
            os.replace(kept, path)  # noqa: PTH105  # as above
        flush(os.path.dirname(path))  # noqa: PTH120  # as above
    except OSError as error:
        raise StateError(path, f"cannot be put back: {error.strerror}") from error
    _drop(beside)  # renaming one of two names of the same file does nothing


def reserve(path: str, value: object) -> None:
    """Keep room for a later `save` of about this value, in a folder that is there. Raises StateError without room."""
    size = len(_spelled(value)) * 2 + _SLACK
    try:
        fd = os.open(path + _ROOM, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            allocate(fd, size)
        finally:
            os.close(fd)
    except OSError as error:
        unreserve(path)
        hint = "nothing was changed; make room"
        raise StateError(path, f"no room for it: {os.strerror(error.errno or errno.EIO)}", hint=hint) from error


def unreserve(path: str) -> None:
    """Give back the room that `reserve` kept."""
    _drop(path + _ROOM)


def allocate(fd: int, size: int) -> None:
    """Make the file at least `size` bytes, all of them really on the disk. Raises OSError."""
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.EINVAL}:
            raise
        here = os.fstat(fd).st_size
        while here < size:
            here += os.pwrite(fd, bytes(min(size - here, 1 << 16)), here)


def remove(path: str) -> None:
    """Take the file away; it may be gone already. Raises StateError."""
    failed = LocalHost().drop(os.path.abspath(path)) if os.path.lexists(path) else 0  # noqa: PTH100  # as above
    if failed not in {0, errno.ENOENT}:
        raise StateError(path, f"cannot be removed: {os.strerror(failed)}")


def _drop(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108  # pathlib costs a start-up


def flush(folder: str) -> None:
    """Put the names in a folder on the disk. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _spelled(value: object) -> str:
    envelope = {"format": FORMAT, "numatune": __version__, "holds": to_data(value)}
    return json.dumps(envelope, separators=(",", ":")) + "\n"
