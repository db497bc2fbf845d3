"""The whole topology, section by section."""

from __future__ import annotations

from collections.abc import Collection

from numatune.discover.cgroups import cgroups
from numatune.discover.cpus import cpus
from numatune.discover.devices import devices
from numatune.discover.identity import fingerprint_of
from numatune.discover.interrupts import interrupts
from numatune.discover.machine import machine
from numatune.discover.mounts import mounts
from numatune.discover.nodes import BASE as NODE_BASE
from numatune.discover.nodes import hugepage_sizes, nodes
from numatune.discover.power import power
from numatune.discover.queues import queues
from numatune.discover.services import irqbalance
from numatune.discover.thp import thp
from numatune.host.protocol import Reader
from numatune.topology.model import Cgroups, Irqbalance, Section, Thp, Topology
from numatune.topology.power import Power
from numatune.topology.resolve import resolve

ALL = frozenset(Section)


def discover_host(reader: Reader, sections: Collection[Section] | None = None) -> Topology:
    """The host as `sections` of its topology; None: all. Interrupts and queues bring devices, those the nodes."""
    wanted = {Section.MACHINE, Section.CPUS, *(ALL if sections is None else sections)}
    if wanted & {Section.INTERRUPTS, Section.QUEUES}:
        wanted.add(Section.DEVICES)
    if Section.DEVICES in wanted:
        wanted.add(Section.NODES)
    host = machine(reader)
    processors = cpus(reader)
    memory = nodes(reader, processors.online) if Section.NODES in wanted else ()
    hardware = resolve(devices(reader), memory, processors.online) if Section.DEVICES in wanted else ()
    return Topology(
        sections=frozenset(wanted),
        machine=host,
        cpus=processors,
        nodes=memory,
        devices=hardware,
        interrupts=interrupts(reader, hardware, host.kernel) if Section.INTERRUPTS in wanted else (),
        cgroups=cgroups(reader) if Section.CGROUPS in wanted else Cgroups(),
        thp=thp(reader) if Section.THP in wanted else Thp(),
        irqbalance=irqbalance(reader) if Section.SERVICES in wanted else Irqbalance(),
        queues=tuple(queues(reader, hardware)) if Section.QUEUES in wanted else (),
        mounts=mounts(reader) if Section.MOUNTS in wanted else (),
        power=power(reader, processors.online) if Section.POWER in wanted else Power(),
        hugepage_sizes=hugepage_sizes(reader) if Section.NODES in wanted else (),
        fingerprint=fingerprint_of(reader),
        numa=reader.stat(NODE_BASE) is not None,
    )
