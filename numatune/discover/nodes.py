"""NUMA nodes: CPUs, memory, hugepage pools, distances, HMAT, tier.

Documentation/ABI/stable/sysfs-devices-node; HMAT: Documentation/admin-guide/mm/numaperf.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

from numatune.cpus import CpuSet
from numatune.discover.read import cpu_list, cpu_mask, fields, integer, kib, members, number, numbered, text
from numatune.host.protocol import Reader
from numatune.topology.model import Access, Node, NodeKind, Pool

BASE = "/sys/devices/system/node"
_LATE = 1 << 20
"""Bytes. So much less than the machine has is no difference of two moments (a few pages, in captures of real hosts)."""

_TIERS = "/sys/devices/virtual/memory_tiering"


def node_ids(reader: Reader) -> CpuSet:
    """Nodes that have a folder and are online; all that have one where nothing tells which are."""
    folders = members(reader.names(BASE), "node")
    online = cpu_list(reader, f"{BASE}/online")
    return folders & online if online is not None and folders & online else folders


def nodes(reader: Reader, online: CpuSet) -> tuple[Node, ...]:
    """All of them, by id. `online`: the CPUs that run."""
    ids = node_ids(reader)
    rows = cpu_list(reader, f"{BASE}/online") or ids
    possible = cpu_list(reader, f"{BASE}/possible") or ids
    with_memory = cpu_list(reader, f"{BASE}/has_memory", f"{BASE}/has_normal_memory")
    tiers = _tiers(reader)
    found = []
    for node in ids:
        base = f"{BASE}/node{node}"
        cpus = node_cpus(reader, node) & online
        memory, free = memory_of(reader, node)
        has_memory = memory > 0 if memory is not None else with_memory is None or node in with_memory
        found.append(
            Node(
                id=node,
                cpus=cpus,
                kind=_kind(cpus, has_memory=has_memory),
                memory_bytes=memory,
                free_bytes=free,
                distances=_distances(text(reader, f"{base}/distance"), ids, rows, possible),
                hugepages=_pools(reader, f"{base}/hugepages"),
                access=tuple(_access(reader, base)),
                tier=tiers.get(node),
            )
        )
    return tuple(found)


def node_cpus(reader: Reader, node: int) -> CpuSet:
    """CPUs that the node names, running or not: its list, else its mask, else its links."""
    base = f"{BASE}/node{node}"
    found = cpu_list(reader, f"{base}/cpulist")
    if found is None:
        found = cpu_mask(reader, f"{base}/cpumap")
    return members(reader.names(base), "cpu") if found is None else found


def memory_of(reader: Reader, node: int) -> tuple[int | None, int | None]:
    """(total, free) in bytes, None where there is no meminfo.

    The only node that there can be has the machine's memory. Kernels that initialise memory late count in the node's
    file what is done so far, which grows; the machine's file has all of it.
    """
    held = fields(text(reader, f"{BASE}/node{node}/meminfo"))
    total, free = kib(held.get(f"Node {node} MemTotal")), kib(held.get(f"Node {node} MemFree"))
    if total and len(cpu_list(reader, f"{BASE}/possible") or node_ids(reader)) == 1:
        whole = machine_memory(reader) or 0
        total = whole if whole - total > _LATE else total
    return total, free


def machine_memory(reader: Reader) -> int | None:
    """Bytes of the whole machine, None where there is no /proc/meminfo."""
    return kib(fields(text(reader, "/proc/meminfo")).get("MemTotal"))


def _kind(cpus: CpuSet, *, has_memory: bool) -> NodeKind:
    if cpus:
        return "cpu+mem" if has_memory else "cpu-only"
    return "memory-only" if has_memory else "empty"


def _distances(row: str | None, ids: CpuSet, online: CpuSet, possible: CpuSet) -> dict[int, int]:
    """Distances by node. A row has one entry per online node, in order of the ids and not by id.

    A row of another length is read by the possible nodes if it fits them, else it tells nothing.
    """
    values = [integer(value) for value in (row or "").split()]
    columns = next((some for some in (online, possible) if len(some) == len(values)), CpuSet())
    return {node: value for node, value in zip(columns, values, strict=False) if node in ids and value is not None}


def _pools(reader: Reader, folder: str) -> dict[int, Pool]:
    pools = {}
    for size in numbered(reader.names(folder), "hugepages-", "kB"):
        pool = f"{folder}/hugepages-{size}kB"
        total = number(reader, f"{pool}/nr_hugepages")
        if total is not None:
            free, surplus = number(reader, f"{pool}/free_hugepages"), number(reader, f"{pool}/surplus_hugepages")
            pools[size] = Pool(total=total, free=free, surplus=surplus)
    return pools


def _access(reader: Reader, base: str) -> Iterator[Access]:
    for access_class in numbered(reader.names(base), "access"):
        folder = f"{base}/access{access_class}/initiators"
        names = reader.names(folder)
        if names:
            yield Access(
                access_class=access_class,
                initiators=members(names, "node"),
                read_latency=number(reader, f"{folder}/read_latency"),
                write_latency=number(reader, f"{folder}/write_latency"),
                read_bandwidth=number(reader, f"{folder}/read_bandwidth"),
                write_bandwidth=number(reader, f"{folder}/write_bandwidth"),
            )


def _tiers(reader: Reader) -> dict[int, int]:
    """Node -> tier; a smaller tier is faster memory."""
    return {
        node: tier
        for tier in numbered(reader.names(_TIERS), "memory_tier")
        for node in cpu_list(reader, f"{_TIERS}/memory_tier{tier}/nodelist") or ()
    }


def hugepage_sizes(reader: Reader) -> tuple[int, ...]:
    """Sizes in kB that this kernel offers."""
    return tuple(sorted(numbered(reader.names("/sys/kernel/mm/hugepages"), "hugepages-", "kB")))
