"""Pages of a process of its own, by the kernel's own account of them. The first word says what to look at:

huge                 kB in transparent huge pages of a mapping that asks for them, and of one that does not
pool COUNT           takes that many 2 MiB pages of the pools: by node, where they are (numactl says of which)
take MIB             touches so much memory: by node, where it is
file PATH            pages of a file by node
stay MIB [CPU]       touches so much memory, on a CPU, and stays with it
where PID            pages of a process's anonymous memory by node
wander SECONDS       touches memory of the first node from a CPU of the last one: numa_pte_updates meanwhile
wander-until SECONDS the same, but no longer than until the kernel has looked at a page

It runs inside a guest and shares no code with numatune.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

HUGE = 2 << 20
MAP_HUGETLB = 0x40000
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def huge() -> dict[str, int]:
    return {"asks": in_huge_pages(ask=True), "does not": in_huge_pages(ask=False)}


def in_huge_pages(*, ask: bool) -> int:
    """kB of a new mapping that the kernel gave in huge pages."""
    with mmap.mmap(-1, 4 * HUGE, flags=PRIVATE) as area:
        area.madvise(mmap.MADV_HUGEPAGE if ask else mmap.MADV_RANDOM)
        before = anonymous_huge()
        touch(area)
        return anonymous_huge() - before


def anonymous_huge() -> int:
    rollup = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return int(re.findall(r"AnonHugePages: +(\d+) kB", rollup)[0])


def touch(area: mmap.mmap) -> None:
    for offset in range(0, len(area), mmap.PAGESIZE):
        area[offset] = 1


def pool(count: int) -> dict[str, int]:
    """Whether a node's pool has them, only taking them tells."""
    with mmap.mmap(-1, count * HUGE, flags=PRIVATE | MAP_HUGETLB) as area:
        touch(area)
        return where("self", kind=" huge ")


def take(mebibytes: int) -> dict[str, int]:
    with mmap.mmap(-1, mebibytes << 20, flags=PRIVATE) as area:
        area.madvise(mmap.MADV_NOHUGEPAGE)  # and no part of another mapping
        touch(area)
        return where("self", kind=f"{ctypes.addressof(ctypes.c_char.from_buffer(area)):x} ")


def of_file(path: str) -> dict[str, int]:
    """As a mapping that has read all of it sees them."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as area:
        sum(area[offset] for offset in range(0, len(area), mmap.PAGESIZE))
        return where("self", kind=f" file={path} ")


def where(pid: str, kind: str = " anon=") -> dict[str, int]:
    """Pages by node, of the lines of numa_maps that have that word."""
    found: Counter[str] = Counter()
    for line in Path(f"/proc/{pid}/numa_maps").read_text(encoding="utf-8").splitlines():
        if kind in line and "heap" not in line and "stack" not in line and "file=/usr" not in line:
            found.update({node: int(count) for node, count in re.findall(r" N(\d+)=(\d+)", line)})
    return dict(found)


def stay(mebibytes: int, cpus: set[int]) -> None:
    os.sched_setaffinity(0, cpus)
    with mmap.mmap(-1, mebibytes << 20, flags=PRIVATE) as area:
        touch(area)
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        sys.stdout.write("there\n")
        sys.stdout.flush()
        time.sleep(3600)


def looked_at() -> int:
    vmstat = Path("/proc/vmstat").read_text(encoding="ascii")
    return int(re.findall(r"^numa_pte_updates (\d+)$", vmstat, re.MULTILINE)[0])


def wander(seconds: float, *, until_moved: bool) -> int:
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[0]})
    with mmap.mmap(-1, 16 << 20, flags=PRIVATE) as area:
        touch(area)
        os.sched_setaffinity(0, {cpus[-1]})
        before = looked_at()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until_moved and looked_at() > before):
            touch(area)
        return looked_at() - before


def main(what: str, *words: str) -> None:
    match what:
        case "huge":
            json.dump(huge(), sys.stdout)
        case "pool":
            json.dump(pool(int(words[0])), sys.stdout)
        case "take":
            json.dump(take(int(words[0])), sys.stdout)
        case "file":
            json.dump(of_file(words[0]), sys.stdout)
        case "stay":
            stay(int(words[0]), {int(cpu) for cpu in words[1:]} or os.sched_getaffinity(0))
        case "where":
            json.dump(where(words[0]), sys.stdout)
        case "wander" | "wander-until":
            json.dump(wander(float(words[0]), until_moved=what == "wander-until"), sys.stdout)
        case _:
            sys.exit(f"{what}?")


if __name__ == "__main__":
    main(*sys.argv[1:])
