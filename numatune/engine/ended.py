"""Whether the newest run came to its end, told from the last bytes of its journal: what every command asks first."""

from __future__ import annotations

import os

_TAIL = 1 << 13
_JOURNAL = ".jsonl"
_END = b'\n{"@":"RunEnd"'


def certainly(folder: str) -> bool:
    """True: there is no run, or the newest one's end is written down. False: only reading the journals would tell."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_JOURNAL)]  # noqa: PTH208  # pathlib costs a start-up
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not names:
        return True
    _, found, rest = _tail(f"{folder}/{max(names)}").partition(_END)
    return bool(found) and b"\n" in rest  # a torn last line is no end


def _tail(path: str) -> bytes:
    """The last bytes, without the room that a run reserves and that reads as NULs."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs a start-up
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
            return file.read().partition(b"\0")[0]
    except OSError:
        return b""
