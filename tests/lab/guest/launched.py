"""What a launched program has, in itself and in what it starts, by the kernel's own account: a line a fact.

    WHO thread CPUS POLICY        of each thread, the policy as the kernel spells it
    WHO private NODE=PAGES ...    of a new mapping, touched by two threads
    WHO shared NODE=PAGES ...     the same of shared memory

WHO is `self`, `fork` for a fork of it, and with the word `spawn` a new interpreter by multiprocessing. With `stay` it
waits at last until its input ends. It runs inside a guest and shares no code with numatune; `python3 -IS` starts it in
half the time.
"""

# ruff: noqa: PTH123, PTH208  # pathlib would take half of the time that it runs

from __future__ import annotations

import _thread
import mmap
import os
import sys

PAGES = 240  # whole rounds over 1 to 4 nodes
THREADS = 2
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
SHARED = " file=/dev/zero"  # where Linux says that shared memory without a name is


def tell(who: str) -> None:
    known = {*areas()}
    with mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=PRIVATE) as private, mmap.mmap(-1, PAGES * mmap.PAGESIZE) as shared:
        private.madvise(mmap.MADV_NOHUGEPAGE)  # and no part of another mapping
        new = {*areas()} - known
        threads = [Toucher(place, (private, shared)) for place in range(THREADS)]
        for one in threads:
            one.done.acquire()
        lines = [thread(task) for task in sorted(os.listdir("/proc/self/task"), key=int)]
        lines += [pages(line) for line in mappings() if line.split()[0] in new]
        for one in threads:
            one.may_end.release()
        while len(os.listdir("/proc/self/task")) > 1:  # a fork of several threads is warned of
            os.sched_yield()
    os.write(1, "".join(f"{who} {line}\n" for line in lines).encode())


class Toucher:
    """A thread that touches its part of the pages, and then stays to be looked at."""

    def __init__(self, place: int, areas: tuple[mmap.mmap, ...]) -> None:
        self.done, self.may_end = _thread.allocate_lock(), _thread.allocate_lock()
        self.done.acquire()
        self.may_end.acquire()
        _thread.start_new_thread(self.touch, (place, areas))

    def touch(self, place: int, areas: tuple[mmap.mmap, ...]) -> None:
        for area in areas:
            for page in range(place, PAGES, THREADS):
                area[page * mmap.PAGESIZE] = 1
        self.done.release()
        self.may_end.acquire()


def areas() -> list[str]:
    """Where mappings of that size begin."""
    with open("/proc/self/maps", encoding="ascii") as file:
        bounds = [line.split()[0].split("-") for line in file]
    return [start for start, end in bounds if int(end, 16) - int(start, 16) == PAGES * mmap.PAGESIZE]


def mappings(task: str = "") -> list[str]:
    with open(f"/proc/self/{task}numa_maps", encoding="ascii") as file:
        return file.readlines()


def thread(task: str) -> str:
    with open(f"/proc/self/task/{task}/status", encoding="ascii") as file:
        cpus = next(line.split()[1] for line in file if line.startswith("Cpus_allowed_list:"))
    # The program's own text has no policy of its own: the thread's is shown.
    policy = mappings(f"task/{task}/")[0].partition(" ")[2].partition(" file=")[0]
    return f"thread {cpus} {policy}"


def pages(line: str) -> str:
    kind = "shared" if SHARED in line else "private"
    return " ".join([kind, *(word[1:] for word in line.split() if word[0] == "N")])


def main(*words: str) -> None:
    tell("self")
    if not (child := os.fork()):
        tell("fork")
        os._exit(0)
    os.waitpid(child, 0)
    if "spawn" in words:
        import multiprocessing  # noqa: PLC0415  # takes longer than all the rest

        started = multiprocessing.get_context("spawn").Process(target=tell, args=("spawn",))
        started.start()
        started.join()
    if "stay" in words:
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
