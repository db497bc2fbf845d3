"""Buffers given a policy by numatune.mempolicy before they are touched: what it says, and where their pages are.

Prints JSON: by name of the buffer {"said": what the call returned, "pages": by node}. The counting is the guest's own.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import sys
from collections.abc import Callable
from pathlib import Path

from numatune import mempolicy

PAGES = 240
BYTES = PAGES * mmap.PAGESIZE
FILE = Path("/dev/shm/buffers")  # noqa: S108  # the only process here that knows it


def main() -> None:
    told = {}
    for name, give in WAYS.items():
        with mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
            area.madvise(mmap.MADV_NOHUGEPAGE)
            told[f"{name}, private"] = placed(area, give)
        with FILE.open("w+b") as file:
            file.truncate(BYTES)
            with mmap.mmap(file.fileno(), BYTES) as area:
                told[f"{name}, shared"] = placed(area, give)
            with mmap.mmap(file.fileno(), BYTES) as again:  # whoever maps it later finds the policy
                told[f"{name}, seen by the next"] = {"said": repr(mempolicy.of_address(start(again))), "pages": {}}
        FILE.unlink()
    json.dump(told, sys.stdout)


def placed(area: mmap.mmap, give: Callable[[mmap.mmap], mempolicy.InForce]) -> dict[str, object]:
    said = repr(give(area))
    for page in range(PAGES):
        area[page * mmap.PAGESIZE] = 1
    lines = Path("/proc/self/numa_maps").read_text(encoding="ascii").splitlines()
    line = next(line for line in lines if line.startswith(f"{start(area):x} "))
    counts = (word[1:].split("=") for word in line.split() if word[0] == "N")
    return {"said": said, "pages": {node: int(count) for node, count in counts}}


def start(area: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(area))


WAYS: dict[str, Callable[[mmap.mmap], mempolicy.InForce]] = {
    "interleave": mempolicy.interleave,
    "interleave over two": lambda area: mempolicy.interleave(area, [1, 3]),
    "weights": mempolicy.weights,
    "bind": lambda area: mempolicy.bind(area, [2]),
    "prefer": lambda area: mempolicy.prefer(area, 3),
}

if __name__ == "__main__":
    main()
