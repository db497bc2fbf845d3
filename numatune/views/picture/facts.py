"""What all parts of a picture are drawn from: the topology, what lies where, and sizes that the whole page shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numatune.topology.model import Device, Interrupt, Topology
from numatune.views.arranged import Arranged, arranged
from numatune.views.picture.measure import text_width
from numatune.views.served import Interrupts, by_cpu, served, serving

CPU_SIZE = 10
"""Of the letters in a CPU's cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of one host.

    served      interrupts of each device that is shown, by address
    by_cpu      the interrupts that each CPU serves
    by_node     how many interrupts each node serves
    busiest     the most that one CPU serves
    cpu_width   of a CPU's cell, wide enough for the highest number
    largest     bytes of the largest node, 0 when no node tells
    """

    found: Topology
    devices: tuple[Device, ...]
    arranged: Arranged
    served: Mapping[str, Interrupts]
    by_cpu: Mapping[int, Sequence[Interrupt]]
    by_node: Mapping[int | None, int]
    busiest: int
    cpu_width: int
    largest: int


def facts(found: Topology, devices: tuple[Device, ...]) -> Facts:
    """Everything that is worked out once. `devices`: those that are shown."""
    on_cpus = by_cpu(found)
    highest = found.cpus.online.last if found.cpus.online else 0
    return Facts(
        found=found,
        devices=devices,
        arranged=arranged(found, devices),
        served={device.address: served(found, device) for device in devices},
        by_cpu=on_cpus,
        by_node=Counter(serving(found, irq) for irq in found.interrupts),
        busiest=max(map(len, on_cpus.values()), default=0),
        cpu_width=text_width(str(highest), CPU_SIZE) + 8,
        largest=max((node.memory_bytes or 0 for node in found.nodes), default=0),
    )
