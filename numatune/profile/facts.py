"""What expressions see of a host: `nodes`, `cpus`, `memory`, `devices`, as typed objects over the topology.

Only the names in `public` are reachable from a template. Memory is in bytes, rounded down to 128 MiB, so that a reboot,
after which the kernel keeps a little more or less for itself, does not move a wanted value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.topology.memory import smallest_node, total_memory
from numatune.topology.model import Device, Node, Topology

GRAIN: Final = 128 << 20
UNITS: Final[Mapping[str, int]] = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class NotKnown(ValueError):  # noqa: N818  # reads as what happened
    """The host, or what was captured of it, does not tell."""


class View:
    """Base of what a template may look into."""

    __slots__ = ()
    public: ClassVar[frozenset[str]] = frozenset()

    def item(self, key: object) -> object:
        """What ``view[key]`` is. Raises KeyError with what there is."""
        raise KeyError(f"no {key!r} here")


class NodeView(View):
    """One node: `id`, `cpus` (online), `memory` (bytes), `kind`, `first_cores(n)`."""

    __slots__ = ("_node", "_topology")
    public = frozenset({"id", "cpus", "memory", "kind", "first_cores"})

    def __init__(self, node: Node, topology: Topology) -> None:
        self._node = node
        self._topology = topology

    @property
    def id(self) -> int:
        return self._node.id

    @property
    def cpus(self) -> CpuSet:
        return self._node.cpus

    @property
    def kind(self) -> str:
        return self._node.kind

    @property
    def memory(self) -> int:
        if self._node.memory_bytes is None:
            raise NotKnown(f"the memory of node {self._node.id} is not known")
        return self._node.memory_bytes // GRAIN * GRAIN

    def first_cores(self, count: int) -> CpuSet:
        """The CPUs of this node's first `count` cores, SMT siblings included."""
        return _first_cores(self._topology, self._node.cpus, count)


class NodesView(View):
    """Nodes by what they have, as sets of ids; ``nodes[2]`` is one of them.

    all          every online node; `memory`: those with memory; `memory_only`: without CPUs (CXL, HBM, GPU memory)
    cpu          those with CPUs and memory: where a server can be put; `cpu_only`: CPUs without memory
    """

    __slots__ = ("_nodes", "_topology")
    public = frozenset({"all", "cpu", "cpu_only", "memory", "memory_only", "first_cores"})

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._nodes = topology.nodes or (_the_only_node(topology),)

    @property
    def all(self) -> CpuSet:
        return CpuSet(node.id for node in self._nodes)

    @property
    def cpu(self) -> CpuSet:
        return self._of("cpu+mem")

    @property
    def cpu_only(self) -> CpuSet:
        return self._of("cpu-only")

    @property
    def memory(self) -> CpuSet:
        return self._of("cpu+mem", "memory-only")

    @property
    def memory_only(self) -> CpuSet:
        return self._of("memory-only")

    def first_cores(self, count: int) -> CpuSet:
        """The CPUs of the first `count` cores of each node that has CPUs, SMT siblings included."""
        taken = CpuSet()
        for node in self._nodes:
            taken |= _first_cores(self._topology, node.cpus, count)
        return taken

    @override
    def item(self, key: object) -> NodeView:
        for node in self._nodes:
            if type(key) is int and node.id == key:
                return NodeView(node, self._topology)
        raise KeyError(f"no node {key} on this host; accepted: {self.all}")

    def _of(self, *kinds: str) -> CpuSet:
        return CpuSet(node.id for node in self._nodes if node.kind in kinds)


class CpusView(View):
    """CPUs by state, as sets: `online`, `offline`, `isolated`, `nohz_full`; `first(n)` of the online ones; `count`."""

    __slots__ = ("_topology",)
    public = frozenset({"online", "offline", "isolated", "nohz_full", "first", "count"})

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    @property
    def online(self) -> CpuSet:
        return self._topology.cpus.online

    @property
    def offline(self) -> CpuSet:
        return self._topology.cpus.offline

    @property
    def isolated(self) -> CpuSet:
        return self._topology.cpus.isolated

    @property
    def nohz_full(self) -> CpuSet:
        return self._topology.cpus.nohz_full

    @property
    def count(self) -> int:
        return len(self._topology.cpus.online)

    def first(self, count: int) -> CpuSet:
        """The `count` online CPUs with the lowest numbers."""
        return self._topology.cpus.online.take(_at_least_0(count))


class MemoryView(View):
    """Bytes: `total`, and `smallest_node`, of the nodes that have CPUs and memory."""

    __slots__ = ("_topology",)
    public = frozenset({"total", "smallest_node"})

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    @property
    def total(self) -> int:
        return _known(total_memory(self._topology), "how much memory this host has") // GRAIN * GRAIN

    @property
    def smallest_node(self) -> int:
        found = smallest_node(self._topology)
        return _known(found[1] if found else None, "how much memory the nodes of this host have") // GRAIN * GRAIN


class DeviceView(View):
    """One PCI device: `address`, `kind`, `driver`, `node` (none when unknown), `cpus` (those near it)."""

    __slots__ = ("_device", "_topology")
    public = frozenset({"address", "kind", "driver", "node", "cpus"})

    def __init__(self, device: Device, topology: Topology) -> None:
        self._device = device
        self._topology = topology

    @property
    def address(self) -> str:
        return self._device.address

    @property
    def kind(self) -> str:
        return self._device.kind

    @property
    def driver(self) -> str:
        return self._device.driver

    @property
    def node(self) -> int | None:
        return self._device.resolved_node

    @property
    def cpus(self) -> CpuSet:
        node = None if self.node is None else self._topology.node(self.node)
        return node.cpus if node else self._topology.cpus.online


class DevicesView(View):
    """PCI devices: ``devices["0000:41:00.0"]`` or by name (``devices["eth0"]``); `count(kind)`, `nodes(kind)`.

    kind  accelerator, nic, nvme, infiniband
    """

    __slots__ = ("_topology",)
    public = frozenset({"count", "nodes"})

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    def count(self, kind: str) -> int:
        """How many devices of a kind there are."""
        return len(self._of(kind))

    def nodes(self, kind: str) -> CpuSet:
        """The nodes that devices of a kind are at; one whose node is unknown adds none."""
        return CpuSet(device.resolved_node for device in self._of(kind) if device.resolved_node is not None)

    @override
    def item(self, key: object) -> DeviceView:
        for device in self._topology.devices:
            if key == device.address or key in device.names:
                return DeviceView(device, self._topology)
        raise KeyError(f"no device {key} on this host")

    def _of(self, kind: str) -> tuple[Device, ...]:
        kinds = {"accelerator", "nic", "nvme", "infiniband"}
        if kind not in kinds:
            raise ValueError(f"{kind!r} is no kind of device; accepted: {', '.join(sorted(kinds))}")
        return tuple(device for device in self._topology.devices if device.kind == kind)


def views(topology: Topology) -> dict[str, object]:
    """The names that every expression has, besides `vars`."""
    return {
        "nodes": NodesView(topology),
        "cpus": CpusView(topology),
        "memory": MemoryView(topology),
        "devices": DevicesView(topology),
        **UNITS,
    }


def _first_cores(topology: Topology, cpus: CpuSet, count: int) -> CpuSet:
    taken = CpuSet()
    inside: Iterable[CpuSet] = (core.cpus & cpus for core in topology.cpus.cores if core.cpus & cpus)
    for _, core in zip(range(_at_least_0(count)), inside, strict=False):
        taken |= core
    return taken


def _the_only_node(topology: Topology) -> Node:
    """A kernel without NUMA calls all that there is node 0 (cpuset.mems reads 0)."""
    return Node(id=0, cpus=topology.cpus.online, kind="cpu+mem", memory_bytes=topology.machine.memory_bytes)


def _at_least_0(count: int) -> int:
    if type(count) is not int or count < 0:
        raise ValueError(f"{count!r} is no count; accepted: 0 or more")
    return count


def _known(value: int | None, what: str) -> int:
    if value is None:
        raise NotKnown(f"it is not known {what}")
    return value
