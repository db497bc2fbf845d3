"""A file put in place whole: written beside its name, flushed, renamed. What a kill left goes with the next."""

from __future__ import annotations

import contextlib
import os
import stat

_RANDOM = 4
"""Bytes of the name beside: ``.NAME.1a2b3c4d``."""

_HEX = frozenset("0123456789abcdef")


def put(folder: int, name: str, data: bytes, mode: int) -> None:
    """Temporary file, flushed, renamed over `name` in the open `folder`, folder flushed.

    Raises OSError and leaves nothing behind then.
    """
    clear(folder, name)
    beside = f".{name}.{os.urandom(_RANDOM).hex()}"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        try:
            os.fchmod(fd, mode)
            written = 0
            while written < len(data):
                written += os.write(fd, data[written:])
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(beside, dir_fd=folder)
        raise
    os.fsync(folder)


def clear(folder: int, name: str) -> None:
    """Remove what a `put` of that name that was killed has left: the caller's own plain files of such a name alone.

    Two writers of one file would be in each other's way; whoever writes holds a lock, or was asked for that file.
    """
    for beside in os.listdir(folder):
        if not _is_beside(beside, name):
            continue
        with contextlib.suppress(OSError):
            found = os.stat(beside, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                os.unlink(beside, dir_fd=folder)


def _is_beside(beside: str, name: str) -> bool:
    start = f".{name}."
    end = beside[len(start) :]
    return beside.startswith(start) and len(end) == 2 * _RANDOM and _HEX.issuperset(end)
