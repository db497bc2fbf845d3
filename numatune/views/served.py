"""Which node serves the interrupts of devices, for views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.topology.model import Device, Interrupt, Topology

Serving = int | None
"""A node's id; None: CPUs of several nodes, or nothing tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupts:
    """Of one device. `by_node`: how many each node serves. `away`: those of nodes that are not the device's."""

    count: int
    kernels: int  # that only the kernel moves
    by_node: Mapping[Serving, int]
    away: Mapping[int, int]


def served(found: Topology, device: Device) -> Interrupts:
    """The interrupts of a device and where they are."""
    own = found.interrupts_of(device.address)
    by_node = Counter(serving(found, irq) for irq in own)
    ordered = dict(sorted(by_node.items(), key=lambda item: (item[0] is None, item[0] or 0)))
    home = found.node(device.resolved_node) if device.resolved_node is not None else None
    away = {
        node: count
        for node, count in ordered.items()
        if home is not None and home.cpus and node is not None and node != home.id
    }
    return Interrupts(count=len(own), kernels=sum(irq.movable is False for irq in own), by_node=ordered, away=away)


def serving(found: Topology, irq: Interrupt) -> Serving:
    """The node that has all CPUs on which an interrupt runs, the first where several claim them."""
    cpus = irq.requested if irq.effective is None else irq.effective
    if not cpus:
        return None
    return next((node.id for node in found.nodes if cpus <= node.cpus), None)


def by_cpu(found: Topology) -> dict[int, list[Interrupt]]:
    """Interrupts by the CPU on which they run, where the kernel tells of one."""
    made: dict[int, list[Interrupt]] = {}
    for irq in found.interrupts:
        for cpu in irq.effective or CpuSet():
            made.setdefault(cpu, []).append(irq)
    return made
