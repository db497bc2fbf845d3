"""A topology as entries that can be compared with those of another host. Pure.

What only tells machines apart is left out: interrupt numbers, boot ids, names of interfaces, free memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from numatune.topology.comparison import Entry
from numatune.topology.model import Device, Interrupt, Node, Topology
from numatune.topology.pairing import KINDS

_SLACK = 128 << 20
"""Bytes. Memory sizes differ a little between hosts of the same make, and from boot to boot."""


def entries(
    topology: Topology, called: Mapping[str, str], *, nodes: Collection[int], paired: Collection[str]
) -> Iterator[Entry]:
    """Everything but settings and drivers.

    called         labels of devices by address
    nodes, paired  ids of nodes, and addresses of devices, that the other host has too
    """
    yield from _machine(topology)
    yield from _cpus(topology)
    for node in topology.nodes:
        yield from _node(node) if node.id in nodes else _node_more(node)
    for device in topology.devices:
        if device.kind in KINDS:
            yield from _device(device, topology, called[device.address], paired=device.address in paired)
    yield from _others(topology)
    for device in topology.devices:
        if device.address in paired:
            yield from _interrupts(device, topology, called[device.address])


def _machine(topology: Topology) -> Iterator[Entry]:
    machine = topology.machine
    told = {
        "kernel": machine.kernel,
        "architecture": machine.arch,
        "virtualisation": machine.virt,
        "distribution": machine.distribution,
    }
    for name, value in told.items():
        yield Entry(section="machine", of="", name=name, value=value or None)
    yield _memory("machine", "", machine.memory_bytes, slack=_SLACK * max(1, len(topology.nodes)))


def _cpus(topology: Topology) -> Iterator[Entry]:
    cpus = topology.cpus
    threads = sorted({len(core.cpus) for core in cpus.cores})
    told = {
        "online": f"{len(cpus.online)} ({cpus.online})",
        "offline": str(cpus.offline),
        "cores": str(len(cpus.cores)),
        "threads a core": " or ".join(map(str, threads)),
        "packages": str(len(cpus.packages)),
        "L3 groups": str(len(cpus.l3)),
        "isolated": str(cpus.isolated),
        "nohz_full": str(cpus.nohz_full),
    }
    for name, value in told.items():
        yield Entry(section="cpus", of="", name=name, value=value or "none")


def _node(node: Node) -> Iterator[Entry]:
    of = f"node {node.id}"
    distances = " ".join(str(distance) for _, distance in sorted(node.distances.items()))
    yield Entry(section="nodes", of=of, name="kind", value=node.kind)
    yield Entry(section="nodes", of=of, name="cpus", value=str(node.cpus) or "none")
    yield _memory("nodes", of, node.memory_bytes, slack=_SLACK)
    yield Entry(section="nodes", of=of, name="distances", value=distances or None)
    for size, pool in sorted(node.hugepages.items()):
        yield Entry(section="nodes", of=of, name=f"hugepages of {size} kB", value=str(pool.total))
    if node.tier is not None:
        yield Entry(section="nodes", of=of, name="tier", value=str(node.tier))


def _node_more(node: Node) -> Iterator[Entry]:
    """One that the other host has not got."""
    told = [
        node.kind,
        f"CPUs {node.cpus}" if node.cpus else "",
        _memory("", "", node.memory_bytes, slack=0).value or "",
    ]
    yield Entry(section="nodes", of=f"node {node.id}", name="there", value=", ".join(filter(None, told)))


def _memory(section: str, of: str, size: int | None, *, slack: int) -> Entry:
    value = None if size is None else f"{size / (1 << 30):.1f} GiB"
    numbers = () if size is None else (size,)
    return Entry(section=section, of=of, name="memory", value=value, numbers=numbers, slack=slack)


def _device(device: Device, topology: Topology, called: str, *, paired: bool) -> Iterator[Entry]:
    """Of one that the other host has not got, only that it is there."""
    node = "unknown" if device.resolved_node is None else f"node {device.resolved_node}"
    if not paired:
        told = f"{device.vendor}:{device.device}, {device.driver or 'no driver'}, {node}"
        yield Entry(section="devices", of=called, name="there", value=told)
        return
    yield Entry(section="devices", of=called, name="driver", value=device.driver or "none")
    yield Entry(section="devices", of=called, name="node", value=node)
    link = topology.links.get(device.address)
    yield Entry(section="devices", of=called, name="lanes", value=str(link.lanes) if link and link.lanes else None)
    speed = (link.speed or "").removesuffix(" PCIe").replace(".0 ", " ") if link else ""
    yield Entry(section="devices", of=called, name="speed", value=speed or None)
    vectors = len(topology.interrupts_of(device.address))
    yield Entry(section="devices", of=called, name="interrupts", value=str(vectors))
    queues = [queue for queue in topology.queues if queue.device == device.address]
    if queues:
        counts = f"{sum(len(q.receive) for q in queues)} rx, {sum(len(q.transmit) for q in queues)} tx"
        yield Entry(section="devices", of=called, name="queues", value=counts)


def _others(topology: Topology) -> Iterator[Entry]:
    """How many there are of each model."""
    others = Counter(
        f"{device.class_}/{device.vendor}:{device.device}" for device in topology.devices if device.kind not in KINDS
    )
    for model, count in sorted(others.items()):
        yield Entry(section="devices", of="other", name=model, value=str(count))


def _interrupts(device: Device, topology: Topology, called: str) -> Iterator[Entry]:
    """The CPUs that each may run on. Its name is without what the device is called here."""
    seen: Counter[str] = Counter()
    for interrupt in topology.interrupts_of(device.address):
        name = _vector(interrupt, device)
        seen[name] += 1
        name = f"{name} #{seen[name]}" if seen[name] > 1 else name
        requested = None if interrupt.requested is None else str(interrupt.requested) or "none"
        yield Entry(section="interrupts", of=called, name=name, value=requested)


def _vector(interrupt: Interrupt, device: Device) -> str:
    name = interrupt.name
    for own in sorted((device.address, *device.names), key=len, reverse=True):
        name = name.replace(own, "*")
    return name or f"vector {interrupt.index}"
