"""The whole topology, section by section."""

from __future__ import annotations

from collections.abc import Collection

from numatune.discover.cgroups import cgroups
from numatune.discover.cpus import cpus
from numatune.discover.devices import devices
from numatune.discover.identity import fingerprint_of
from numatune.discover.interrupts import interrupts, with_affinities
from numatune.discover.links import links
from numatune.discover.machine import machine
from numatune.discover.mounts import mounts
from numatune.discover.nodes import BASE as NODE_BASE
from numatune.discover.nodes import hugepage_sizes, nodes
from numatune.discover.power import power
from numatune.discover.queues import queues
from numatune.discover.services import irqbalance
from numatune.discover.thp import thp
from numatune.host.protocol import Reader
from numatune.topology.model import Cgroups, Device, Interrupt, Irqbalance, Section, Thp, Topology
from numatune.topology.power import Power
from numatune.topology.resolve import resolve

ALL = frozenset(Section)


def discover_host(reader: Reader, sections: Collection[Section] | None = None) -> Topology:
    """The host as `sections` of its topology; None: all. Interrupts, queues and links bring devices, those nodes."""
    wanted = {Section.MACHINE, Section.CPUS, *(ALL if sections is None else sections)}
    if Section.AFFINITIES in wanted:
        wanted.add(Section.INTERRUPTS)
    if wanted & {Section.INTERRUPTS, Section.QUEUES, Section.LINKS}:
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
        interrupts=_interrupts(reader, hardware, host.kernel, wanted),
        cgroups=cgroups(reader) if Section.CGROUPS in wanted else Cgroups(),
        thp=thp(reader) if Section.THP in wanted else Thp(),
        irqbalance=irqbalance(reader) if Section.SERVICES in wanted else Irqbalance(),
        queues=tuple(queues(reader, hardware)) if Section.QUEUES in wanted else (),
        links=dict(links(reader, hardware)) if Section.LINKS in wanted else {},
        mounts=mounts(reader) if Section.MOUNTS in wanted else (),
        power=power(reader, processors.online) if Section.POWER in wanted else Power(),
        hugepage_sizes=hugepage_sizes(reader) if Section.NODES in wanted else (),
        fingerprint=fingerprint_of(reader),
        numa=reader.stat(NODE_BASE) is not None,
    )


def _interrupts(
    reader: Reader, hardware: Collection[Device], kernel: str, wanted: Collection[Section]
) -> tuple[Interrupt, ...]:
    """What is asked of thousands of interrupts is most of a look at a large host."""
    if Section.INTERRUPTS not in wanted:
        return ()
    found = interrupts(reader, tuple(hardware))
    return with_affinities(reader, found, kernel) if Section.AFFINITIES in wanted else found
