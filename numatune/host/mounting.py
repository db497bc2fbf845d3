"""Mounting a tmpfs, changing one of its options, taking it away: system calls, with an errno for an answer.

mount(8) would split a list of nodes at its commas (``mpol=interleave:0,2``), merge in what fstab says, and give a
remount the flags that it thinks the mount has. fsconfig(2), Linux 5.2 and for tmpfs 5.4, changes one option and
nothing else.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

_NOSUID, _NODEV = 2, 4
_FSPICK, _FSCONFIG = 433, 431
"""The same on every architecture but Alpha."""
_CLOEXEC, _EMPTY_PATH = 1, 8
_SET_STRING, _RECONFIGURE = 1, 7
_UMOUNT_NOFOLLOW = 8
SOURCE: Final = "numatune"
"""What a mount of ours says that it is of."""


def mount(folder: int, kind: str, options: str) -> int:
    """Mount a new file system of that kind on an open folder. nosuid, nodev."""
    where = f"/proc/self/fd/{folder}".encode()
    flags = ctypes.c_ulong(_NOSUID | _NODEV)
    return _answer(_libc().mount(SOURCE.encode(), where, kind.encode(), flags, options.encode()))


def unmount(path: str) -> int:
    """Take away what is mounted at the end of the path. EBUSY while a file of it is open or mapped."""
    return _answer(_libc().umount2(os.fsencode(path), _UMOUNT_NOFOLLOW))


def reconfigure(folder: int, option: str, value: str) -> int:
    """Set one option of the file system that an open folder is of. ENOSYS before Linux 5.2."""
    call = _libc().syscall
    picked = call(ctypes.c_long(_FSPICK), ctypes.c_int(folder), b"", ctypes.c_uint(_CLOEXEC | _EMPTY_PATH))
    if picked < 0:
        return ctypes.get_errno()
    try:
        return _config(picked, _SET_STRING, option, value) or _config(picked, _RECONFIGURE, None, None)
    finally:
        os.close(picked)


def _config(picked: int, command: int, key: str | None, value: str | None) -> int:
    texts = (None if text is None else text.encode() for text in (key, value))
    number, zero = ctypes.c_long(_FSCONFIG), ctypes.c_int(0)
    return _answer(_libc().syscall(number, ctypes.c_int(picked), ctypes.c_uint(command), *texts, zero))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _answer(returned: int) -> int:
    return 0 if returned >= 0 else ctypes.get_errno() or errno.EIO
