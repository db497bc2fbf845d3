"""A server that a launch starts: three threads and 4 MiB of touched memory, for an hour.

    server.py FILE [rebind]

FILE is there when all is touched. With `rebind` one of its threads takes another memory policy, as engines do. It runs
inside a guest and shares no code with numatune.
"""

from __future__ import annotations

import _thread
import ctypes
import mmap
import sys
import time
from pathlib import Path

THREADS = 2
BYTES = 4 << 20


def stay(ready: _thread.LockType, end: _thread.LockType, policy: int | None) -> None:
    if policy is not None:
        change(policy)
    ready.release()
    end.acquire()


def change(mode: int) -> None:
    """set_mempolicy(2) of x86-64, without nodes."""
    if ctypes.CDLL(None, use_errno=True).syscall(238, mode, None, 0):
        raise OSError(ctypes.get_errno(), "set_mempolicy")


def main(file: str, *words: str) -> None:
    end = _thread.allocate_lock()
    end.acquire()
    with mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        for offset in range(0, BYTES, mmap.PAGESIZE):
            area[offset] = 1
        for place in range(THREADS):
            ready = _thread.allocate_lock()
            ready.acquire()
            local = 4 if "rebind" in words and place == 0 else None
            _thread.start_new_thread(stay, (ready, end, local))
            ready.acquire()
        Path(file).touch()
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
