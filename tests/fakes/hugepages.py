"""Pools of hugepages: filled as far as memory goes, and kept as surplus while somebody uses the pages."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass

from fakes.kernel import Behaviour, FakeKernel
from numatune.compat import override

_POOL = re.compile(r"(/sys/devices/system/node/node(\d+))/hugepages/hugepages-(\d+)kB/nr_hugepages\Z")
_COMPACT = re.compile(r"/sys/devices/system/node/node(\d+)/compact\Z")
_FREE = re.compile(r"(MemFree:\s*)(\d+)")
_BUDDIES = "/proc/buddyinfo"
_DEFAULT_KB = 2048


class Hugepages(Behaviour):
    """A node's nr_hugepages, and /proc/sys/vm/nr_hugepages, which reads as the sum of the default size.

    Free memory that is in too small pieces counts only where the tree has /proc/buddyinfo (blocks of 4 kB << order);
    compaction of the node puts it together.
    """

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if compacted := _COMPACT.match(path):
            _compact(kernel, int(compacted[1]))
            return 0
        found = _POOL.match(path)
        if not found:
            return None
        if not re.fullmatch(r"\s*\d+\s*", text):
            return errno.EINVAL
        Pool(kernel, int(found[2]), int(found[3])).resize(int(text))
        return 0

    @override
    def snapshot(self, kernel: FakeKernel, state: dict[str, str]) -> None:
        """How memory is cut up is nobody's to give back."""
        state.pop(_BUDDIES, None)


@dataclass(frozen=True)
class Pool:
    """The pages of one size on one node."""

    kernel: FakeKernel
    node: int
    kb: int = _DEFAULT_KB

    @property
    def folder(self) -> str:
        return f"/sys/devices/system/node/node{self.node}/hugepages/hugepages-{self.kb}kB"

    def number(self, name: str) -> int:
        """nr, free or surplus."""
        return int(self.kernel.files.get(f"{self.folder}/{name}_hugepages", "0"))

    def use(self, pages: int) -> None:
        """A process takes free pages; negative: it gives some back, surplus ones to the kernel."""
        gone = min(self.number("surplus"), max(0, -pages))
        self._add(nr=-gone, free=-pages - gone, surplus=-gone)

    def resize(self, want: int) -> None:
        """As a write of `want` does: what is used beyond it becomes surplus."""
        total, surplus = self.number("nr"), self.number("surplus")
        if want > total:
            got = min(want - total, self._room())
            self._take_blocks(got)
            self._add(nr=got, free=got, surplus=-surplus)
        else:
            gone = total - max(want, total - self.number("free"))
            self._add(nr=-gone, free=-gone, surplus=total - gone - want - surplus)

    def _add(self, **changes: int) -> None:
        files, everywhere = self.kernel.files, f"/sys/kernel/mm/hugepages/hugepages-{self.kb}kB"
        for name, by in changes.items():
            for folder in (self.folder, everywhere):
                files[f"{folder}/{name}_hugepages"] = f"{int(files[f'{folder}/{name}_hugepages']) + by}\n"
        files[f"{everywhere}/nr_hugepages_mempolicy"] = files[f"{everywhere}/nr_hugepages"]
        if self.kb == _DEFAULT_KB:
            persistent = int(files[f"{everywhere}/nr_hugepages"]) - int(files[f"{everywhere}/surplus_hugepages"])
            files |= {f"/proc/sys/vm/{name}": f"{persistent}\n" for name in ("nr_hugepages", "nr_hugepages_mempolicy")}
        taken = changes["nr"] * self.kb
        for path in (f"/sys/devices/system/node/node{self.node}/meminfo", "/proc/meminfo"):
            files[path] = _FREE.sub(lambda found: f"{found[1]}{int(found[2]) - taken}", files[path])

    def _room(self) -> int:
        """Pages that the node's free memory has room for, as it is cut up now."""
        whole, blocks = _free_kb(self.kernel, self.node) // self.kb, _blocks(self.kernel, self.node)
        if blocks is None:
            return whole
        fitting = sum(count * ((4 << order) // self.kb) for order, count in enumerate(blocks))
        return min(whole, fitting)

    def _take_blocks(self, pages: int) -> None:
        """The largest first; what is too much of the last one is handed back in halves."""
        blocks, own = _blocks(self.kernel, self.node), (self.kb // 4).bit_length() - 1
        if blocks is None:
            return
        for order in range(len(blocks) - 1, own - 1, -1):
            each = 1 << order - own
            taken = min(blocks[order], -(-pages // each))
            blocks[order] -= taken
            pages -= taken * each
        _put_blocks(self.kernel, self.node, blocks)


def _compact(kernel: FakeKernel, node: int) -> None:
    blocks = _blocks(kernel, node)
    if blocks is not None:
        largest = len(blocks) - 1
        _put_blocks(kernel, node, [0] * largest + [_free_kb(kernel, node) // (4 << largest)])


def _put_blocks(kernel: FakeKernel, node: int, blocks: list[int]) -> None:
    lines = kernel.files[_BUDDIES].splitlines(keepends=True)
    line = f"Node {node}, zone   Normal " + " ".join(map(str, blocks)) + "\n"
    kernel.files[_BUDDIES] = "".join(line if held.startswith(f"Node {node},") else held for held in lines)


def _blocks(kernel: FakeKernel, node: int) -> list[int] | None:
    found = re.search(rf"^Node {node}, zone +\w+ +(.*)$", kernel.files.get(_BUDDIES, ""), re.MULTILINE)
    return [int(word) for word in found[1].split()] if found else None


def _free_kb(kernel: FakeKernel, node: int) -> int:
    found = _FREE.search(kernel.files[f"/sys/devices/system/node/node{node}/meminfo"])
    return int(found[2]) if found else 0
