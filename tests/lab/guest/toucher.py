"""Touches pages of a file through a shared mapping: ``toucher.py PATH FIRST END``; with `stay` it keeps the mapping."""

from __future__ import annotations

import mmap
import sys
import time
from pathlib import Path


def main(path: str, first: str, end: str, *words: str) -> None:
    with Path(path).open("r+b") as file, mmap.mmap(file.fileno(), 0) as area:
        for page in range(int(first), int(end)):
            area[page * mmap.PAGESIZE] = 1
        if "stay" in words:
            time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
