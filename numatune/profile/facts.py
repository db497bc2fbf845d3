"""What expressions see of a host: `nodes`, `cpus`, `memory`, `devices`, as typed objects over the topology.

Only the names in `public` are reachable from a template. Memory is in bytes, rounded down to 128 MiB, so that a reboot,
after which the kernel keeps a little more or less for itself, does not move a wanted value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.profile.failed import Unknown
from numatune.topology.memory import smallest_node, total_memory
from numatune.topology.model import Device, Node, NodeKind, Topology

GRAIN: Final = 128 << 20
UNITS: Final[Mapping[str, int]] = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class View:
    """Base of what a template may look into."""

    __slots__ = ()
    called: ClassVar[str] = ""
    public: ClassVar[frozenset[str]] = frozenset()

    def item(self, key: object) -> object:
        """What ``view[key]`` is. Raises KeyError that says what there is."""
        raise KeyError(f"nothing has the number or name {key!r} here")


@dataclass(frozen=True, slots=True)
class NodeView(View):
    """One node: `id`, `cpus` (online), `memory` (bytes), `kind`, `first_cores(n)`."""

    called = "a node"
    public = frozenset({"id", "cpus", "memory", "kind", "first_cores"})

    node: Node
    topology: Topology

    @property
    def id(self) -> int:
        """Its number, which is no position."""
        return self.node.id

    @property
    def cpus(self) -> CpuSet:
        """Its online CPUs."""
        return self.node.cpus

    @property
    def kind(self) -> NodeKind:
        """What it has: cpu+mem, cpu-only, memory-only, empty."""
        return self.node.kind

    @property
    def memory(self) -> int:
        """Bytes. Raises Unknown."""
        return _rounded(self.node.memory_bytes, f"how much memory node {self.node.id} has")

    def first_cores(self, count: int) -> CpuSet:
        """The CPUs of its first `count` cores, SMT siblings included."""
        cores = self.topology.cpus.cores
        inside = [core.cpus & self.cpus for core in cores] if cores else [CpuSet([cpu]) for cpu in self.cpus]
        return _joined([core for core in inside if core][: _at_least_0(count)])


@dataclass(frozen=True, slots=True)
class NodesView(View):
    """Nodes by what they have, as sets of ids; ``nodes[2]`` is one of them.

    all     every node                   memory       those with memory
    cpu     with CPUs and memory:        memory_only  without CPUs: CXL, HBM, GPU memory
            where a server can be put    cpu_only     CPUs without memory
    """

    called = "nodes"
    public = frozenset({"all", "cpu", "cpu_only", "memory", "memory_only", "first_cores"})

    all: CpuSet
    cpu: CpuSet
    cpu_only: CpuSet
    memory: CpuSet
    memory_only: CpuSet
    each: Mapping[int, NodeView]

    def first_cores(self, count: int) -> CpuSet:
        """The CPUs of the first `count` cores of each node that has CPUs, SMT siblings included."""
        return _joined(node.first_cores(count) for node in self.each.values())

    @override
    def item(self, key: object) -> NodeView:
        if type(key) is int and key in self.each:
            return self.each[key]
        raise KeyError(f"no node {key} on this host; accepted: {self.all}")


@dataclass(frozen=True, slots=True)
class CpusView(View):
    """CPUs by state, as sets: `online`, `offline`, `isolated`, `nohz_full`; `first(n)` of the online ones; `count`."""

    called = "cpus"
    public = frozenset({"online", "offline", "isolated", "nohz_full", "first", "count"})

    online: CpuSet
    offline: CpuSet
    isolated: CpuSet
    nohz_full: CpuSet

    @property
    def count(self) -> int:
        """How many are online."""
        return len(self.online)

    def first(self, count: int) -> CpuSet:
        """The `count` online CPUs with the lowest numbers."""
        return self.online.take(_at_least_0(count))


@dataclass(frozen=True, slots=True)
class MemoryView(View):
    """Bytes: `total`, and `smallest_node`, of the nodes that have CPUs and memory."""

    called = "memory"
    public = frozenset({"total", "smallest_node"})

    topology: Topology

    @property
    def total(self) -> int:
        """Of the whole host. Raises Unknown."""
        return _rounded(total_memory(self.topology), "how much memory it has")

    @property
    def smallest_node(self) -> int:
        """Of the smallest node that a server can be put on. Raises Unknown."""
        found = smallest_node(self.topology)
        return _rounded(found[1] if found else None, "how much memory its nodes have")


@dataclass(frozen=True, slots=True)
class DeviceView(View):
    """One PCI device: `address`, `kind`, `driver`, `node` (none when unknown), `cpus` (of its node, or all)."""

    called = "a device"
    public = frozenset({"address", "kind", "driver", "node", "cpus"})

    address: str
    kind: str
    driver: str
    node: int | None
    cpus: CpuSet


@dataclass(frozen=True, slots=True)
class DevicesView(View):
    """PCI devices: ``devices["0000:41:00.0"]`` or by name (``devices["eth0"]``); `count(kind)`, `nodes(kind)`.

    kind  accelerator, nic, nvme, infiniband
    """

    called = "devices"
    public = frozenset({"count", "nodes"})

    topology: Topology

    def count(self, kind: str) -> int:
        """How many devices of a kind there are."""
        return len(self._of(kind))

    def nodes(self, kind: str) -> CpuSet:
        """The nodes that devices of a kind are at; one whose node is unknown adds none."""
        return CpuSet(device.resolved_node for device in self._of(kind) if device.resolved_node is not None)

    @override
    def item(self, key: object) -> DeviceView:
        for device in self.topology.devices:
            if key == device.address or key in device.names:
                node = None if device.resolved_node is None else self.topology.node(device.resolved_node)
                cpus = node.cpus if node else self.topology.cpus.online
                return DeviceView(device.address, device.kind, device.driver, device.resolved_node, cpus)
        raise KeyError(f"no device {key} on this host")

    def _of(self, kind: str) -> tuple[Device, ...]:
        kinds = ("accelerator", "nic", "nvme", "infiniband")
        if kind not in kinds:
            raise ValueError(f"{kind!r} is no kind of device; accepted: {', '.join(kinds)}")
        return tuple(device for device in self.topology.devices if device.kind == kind)


def views(topology: Topology) -> dict[str, object]:
    """The names that every expression has, besides `vars`."""
    cpus = topology.cpus
    return {
        "nodes": _nodes(topology),
        "cpus": CpusView(cpus.online, cpus.offline, cpus.isolated, cpus.nohz_full),
        "memory": MemoryView(topology),
        "devices": DevicesView(topology),
        **UNITS,
    }


def _nodes(topology: Topology) -> NodesView:
    """A kernel without NUMA calls all that there is node 0, as cpuset.mems does."""
    only = Node(id=0, cpus=topology.cpus.online, kind="cpu+mem", memory_bytes=topology.machine.memory_bytes)
    nodes = topology.nodes or (only,)

    def of(*kinds: NodeKind) -> CpuSet:
        return CpuSet(node.id for node in nodes if node.kind in kinds)

    return NodesView(
        all=CpuSet(node.id for node in nodes),
        cpu=of("cpu+mem"),
        cpu_only=of("cpu-only"),
        memory=of("cpu+mem", "memory-only"),
        memory_only=of("memory-only"),
        each={node.id: NodeView(node, topology) for node in nodes},
    )


def _joined(sets: Iterable[CpuSet]) -> CpuSet:
    joined = CpuSet()
    for each in sets:
        joined |= each
    return joined


def _at_least_0(count: int) -> int:
    if type(count) is not int or count < 0:
        raise ValueError(f"{count!r} is no count; accepted: 0 or more")
    return count


def _rounded(value: int | None, what: str) -> int:
    if value is None:
        raise Unknown(f"this host does not tell {what}")
    return value // GRAIN * GRAIN
