"""One run at a time on a host. The kernel frees the lock when its holder ends, however that ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator

from numatune.errors import LockedError, PrivilegeError, StateError

WAIT = 60.0
"""Seconds, unless --wait says otherwise."""

_MODE = 0o600
_STEP = 0.1
_LONGEST = 200


@contextlib.contextmanager
def held(path: str, command: str, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock; `command` is what a waiting one is told. Raises LockedError after `wait` seconds.

    Raises PrivilegeError when the lock cannot be opened for want of rights, StateError for any other reason.
    """
    fd = _opened(path)
    try:
        _wait(fd, path, wait)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {command}\n".encode(), 0)
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # a child that is about to start may still have the file open
        os.close(fd)


def holder(path: str) -> str:
    """Who holds the lock now, as "pid 123 (apply)", or "pid 123" for who may not read it; "" when nobody does."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except PermissionError:
        return _told_by_the_kernel(path)
    except OSError:
        return ""
    try:
        return "" if _taken(fd, fcntl.LOCK_SH) else _named(fd)
    finally:
        os.close(fd)


def _told_by_the_kernel(path: str) -> str:
    """The holder as /proc/locks names it: ``1: FLOCK  ADVISORY  WRITE 123 00:1a:99 0 EOF`` (proc_locks(5))."""
    try:
        found = os.stat(path)  # noqa: PTH116  # pathlib costs a start-up
        with open("/proc/locks", encoding="ascii") as table:  # noqa: PTH123  # as above
            rows = [line.split() for line in table]
    except OSError:
        return ""
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return next((f"pid {row[4]}" for row in rows if row[1] == "FLOCK" and row[5] == file), "")


def _opened(path: str) -> int:
    """The lock file, which only root may open: who can read a file can lock it, and keep everybody else waiting."""
    folder = os.path.dirname(path)  # noqa: PTH120  # pathlib costs a start-up
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)  # noqa: PTH103  # as above
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
        os.fchmod(fd, _MODE)
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EPERM}:
            raise PrivilegeError(path, "cannot be opened", hint="this command needs root") from error
        raise StateError(path, f"cannot be opened: {error.strerror}") from error
    return fd


def _wait(fd: int, path: str, wait: float) -> None:
    end = time.monotonic() + wait
    while not _taken(fd, fcntl.LOCK_EX):
        left = end - time.monotonic()
        if left <= 0:
            raise LockedError(path, f"held by {_named(fd)}", hint="try again when it is done, or --wait longer")
        time.sleep(min(_STEP, left))


def _taken(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _named(fd: int) -> str:
    pid, _, command = os.pread(fd, _LONGEST, 0).decode("ascii", "replace").strip().partition(" ")
    return f"pid {pid} ({command})" if pid else "another run that is just starting"
