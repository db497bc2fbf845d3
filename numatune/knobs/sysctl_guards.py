"""Sysctls that can take a host down: how much is too much on this host, worked out before anything is read from it."""

from __future__ import annotations

import re
from typing import Final

from numatune.cpus import CpuSet
from numatune.knobs.cpu_masks import beyond
from numatune.knobs.page_sizes import gives_back
from numatune.knobs.sysctl_catalogue import Known
from numatune.settings.codecs import bytes_of
from numatune.settings.model import FitsFree, Guard, Refuse
from numatune.topology.memory import smallest_node, total_memory
from numatune.topology.model import Topology

_GIB: Final = 1 << 30
_UNKNOWN_MEMORY_LIMIT: Final = 256 << 20
"""What the kernel itself would choose at most (mm/page_alloc.c, calculate_min_free_kbytes)."""
_DEFAULT_SIZE: Final = re.compile(r"(?:^|\s)default_hugepagesz=([0-9]+[KMG])(?=\s|$)")
_HUGE: Final = {4096: 2 << 20, 16384: 32 << 20, 65536: 512 << 20}
"""Page size -> what one page table of it spans, the default size of a hugepage."""


def guard(key: str, want: str, known: Known, topology: Topology) -> Guard | None:
    """The limit for one key, None where the kernel's own is enough."""
    if key == "vm.min_free_kbytes":
        return _min_free(int(want) << 10, topology)
    if known.pool:
        size = default_hugepage(topology)
        return FitsFree("/proc/meminfo", size, f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB")
    if known.type == "cpulist":
        missing = beyond(CpuSet.parse(want), topology)
        return Refuse(missing) if missing else None
    return None


def shrinks_pools(want: str, topology: Topology) -> bool:
    """Whether the nodes keep more hugepages of the default size than `want`."""
    return gives_back(int(want), default_hugepage(topology) >> 10, topology.nodes)


def default_hugepage(topology: Topology) -> int:
    """Bytes of a hugepage of the default size: of the last default_hugepagesz= at boot, else by page size."""
    asked = _DEFAULT_SIZE.findall(topology.machine.cmdline)
    return (bytes_of(asked[-1]) if asked else None) or _HUGE.get(topology.machine.page_size, 2 << 20)


def _min_free(asked: int, topology: Topology) -> Guard | None:
    """Near a node's memory it leaves that node without any, near all memory the kernel panics."""
    total, smallest = total_memory(topology), smallest_node(topology)
    if total is None or smallest is None:
        known = "how much memory the nodes of this host have is not known"
        limit = f"{_mib(_UNKNOWN_MEMORY_LIMIT)}, and {known}"
        return Refuse(f"{_mib(asked)} is more than {limit}") if asked > _UNKNOWN_MEMORY_LIMIT else None
    node, size = smallest
    share, fifth = max(_GIB, size // 20), total // 5
    if asked > fifth:
        return Refuse(f"{_mib(asked)} is more than {_mib(fifth)}, 20 % of the {_mib(total)} of this host")
    if asked > share:
        where = "this host" if node is None else f"node {node}, the smallest"
        limit = f"{_mib(share)}, the larger of 1024 MiB and 5 % of {where} ({_mib(size)})"
        return Refuse(f"{_mib(asked)} is more than {limit}")
    return None


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"
