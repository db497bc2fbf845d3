"""Memory policy of a shared-memory file from outside the server that uses it, and where its pages are.

On tmpfs a policy belongs to the file: whoever touches a page first, it goes where the policy says, also by write(2),
and after all have unmapped it (mm/shmem.c, shmem_set_policy). hugetlbfs keeps no policy with the file: there it would
hold for the caller alone, so that it is refused.

Nothing is allocated by looking: pages that are there are found by mincore(2), mapped by MADV_POPULATE_READ (Linux 5.14)
or a touch, and counted by the kernel in numa_maps.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from numatune import mempolicy
from numatune.errors import HostError
from numatune.launch import numa_maps

FOLDER = "/dev/shm"  # noqa: S108  # where POSIX shared memory is (shm_overview(7))

_POPULATE_READ = 22
_POLL = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A file, the policy of its first page, and its pages.

    bytes   its size: what grows beyond it later has no policy
    kib     of it by node
    """

    path: str
    bytes: int
    policy: mempolicy.InForce
    kib: Mapping[int, int] = field(default_factory=dict)

    @property
    def placed(self) -> int:
        """KiB that are somewhere already."""
        return sum(self.kib.values())


def find(name: str, pid: int | None = None) -> str:
    """The path of a file, as this process sees it: `name` is a path, or one of POSIX shared memory.

    With `pid` it is looked up in that process's mount namespace: a container has a /dev/shm of its own.
    """
    path = name if name.startswith("/") and name.count("/") > 1 else f"{FOLDER}/{name.removeprefix('/')}"
    return f"/proc/{pid}/root{path}" if pid is not None else path


def wait(path: str, seconds: float) -> None:
    """Until the file is there and has a size. Raises HostError when it does not come to be in time."""
    end = time.monotonic() + seconds
    while True:
        try:
            if os.stat(path).st_size:  # noqa: PTH116  # pathlib costs a start-up
                return
            found = "is empty"
        except FileNotFoundError:
            found = "is not there"
        except OSError as error:
            found = f"cannot be looked at: {error.strerror}"
        if time.monotonic() >= end:
            hint = "" if seconds else "--wait SECONDS waits for it"
            raise HostError(path, found, accepted="a file of shared memory that has a size", hint=hint)
        time.sleep(_POLL)


def show(path: str) -> Shared:
    """Its policy, and where its pages are. Raises HostError."""
    with closing(_Mapping(path)) as mapped:
        return mapped.shared()


def set_policy(
    path: str, mode: str, nodes: Sequence[int], *, migrate: bool = False
) -> tuple[Shared, Shared, mempolicy.InForce]:
    """Give it a policy: (before, after, what is in force, with a reason where that is something else).

    migrate  also pages that are there; those that others map too only with CAP_SYS_NICE. An interleave moves what is
             outside its nodes, and evens nothing out. Raises HostError for what is no tmpfs.
    """
    with closing(_Mapping(path)) as mapped:
        kind = mapped.kind()
        if kind != "tmpfs":
            why = "hugetlbfs keeps no policy with a file" if kind == "hugetlbfs" else f"it lies on {kind or 'a disk'}"
            hint = "the server itself can: numatune.mempolicy"
            raise HostError(path, why, accepted="a file on tmpfs, whose policy holds for all who map it", hint=hint)
        before = mapped.shared()
        held = mapped.give(mode, nodes, migrate=migrate)
        return before, mapped.shared(), held


_HINTS = {
    PermissionError: "another user's: needs root",
    IsADirectoryError: "name a file in it; a whole mount has its policy by `shm:` in a profile",
}


class _Mapping:
    """The whole file, mapped shared. Raises HostError when it cannot be."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise HostError(path, f"cannot be opened: {error.strerror}", hint=_HINTS.get(type(error), "")) from error
        try:
            self.device = os.fstat(descriptor).st_dev
            self.map = mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, ValueError) as error:
            raise HostError(path, f"cannot be mapped: {error}", accepted="a file that has a size") from error
        finally:
            os.close(descriptor)
        self.start = mempolicy.address_of(self.map)

    def close(self) -> None:
        self.map.close()

    def kind(self) -> str:
        """The file system that it is on, by the mounts of the process through whose root it is named, else by ours.

        "" when they do not say.
        """
        words = self.path.split("/")
        of = words[2] if words[1:2] == ["proc"] and words[3:4] == ["root"] else "self"
        wanted = f"{os.major(self.device)}:{os.minor(self.device)}"
        with open(f"/proc/{of}/mountinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # as above
            for line in file:
                words = line.split()
                if words[2] == wanted and "-" in words:
                    return words[words.index("-") + 1]
        return ""

    def give(self, mode: str, nodes: Sequence[int], *, migrate: bool) -> mempolicy.InForce:
        ways = {
            "interleave": lambda: mempolicy.interleave(self.map, nodes or None, move=migrate),
            "weighted-interleave": lambda: mempolicy.weights(self.map, nodes or None, move=migrate),
            "bind": lambda: mempolicy.bind(self.map, nodes, move=migrate),
            "preferred": lambda: mempolicy.prefer(self.map, nodes[0], move=migrate),
        }
        held: mempolicy.InForce = ways[mode]()
        return held

    def shared(self) -> Shared:
        for first, length in self._there():
            self._populate(first, length)
        return Shared(
            path=self.path, bytes=len(self.map), policy=mempolicy.of_address(self.start), kib=dict(self._counted())
        )

    def _there(self) -> Iterator[tuple[int, int]]:
        """(first byte, length) of each run of pages that are in memory."""
        page = mmap.PAGESIZE
        count = -(-len(self.map) // page)
        flags = (ctypes.c_ubyte * count)()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mincore(ctypes.c_void_p(self.start), ctypes.c_size_t(len(self.map)), flags):
            code = ctypes.get_errno()
            raise HostError(self.path, f"mincore: {os.strerror(code)}")
        resident = bytes(flags).translate(_LOWEST_BIT)
        at = resident.find(1)
        while at >= 0:
            end = resident.find(0, at)
            end = count if end < 0 else end
            yield at * page, (end - at) * page
            at = resident.find(1, end)

    def _populate(self, first: int, length: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        where = (ctypes.c_void_p(self.start + first), ctypes.c_size_t(length), ctypes.c_int(_POPULATE_READ))
        if libc.madvise(*where):
            for at in range(first, min(first + length, len(self.map)), mmap.PAGESIZE):
                _ = self.map[at]

    def _counted(self) -> Iterator[tuple[int, int]]:
        """KiB by node. A range with a policy of its own is a mapping of its own, so that there may be several."""
        end = self.start + len(self.map)
        with open("/proc/self/numa_maps", encoding="ascii", errors="replace") as file:  # noqa: PTH123  # as above
            ours = [one for one in numa_maps.parse(file.read()) if self.start <= one.start < end]
        nodes = dict.fromkeys(node for one in ours for node in one.kib)
        for node in sorted(nodes):
            yield node, sum(one.kib.get(node, 0) for one in ours)


_LOWEST_BIT = bytes(value & 1 for value in range(256))
