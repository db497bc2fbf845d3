"""What a launch looks at: the parts of a host's topology that placement needs, and what this process may have."""

from __future__ import annotations

import os

from numatune.cpus import CpuSet
from numatune.discover.cpus import cpus
from numatune.discover.devices import devices
from numatune.discover.nodes import nodes
from numatune.discover.read import fields, text
from numatune.host.protocol import Reader
from numatune.topology.model import Section, Topology
from numatune.topology.resolve import resolve

SECTIONS = frozenset({Section.CPUS, Section.NODES, Section.DEVICES})


def look(reader: Reader) -> Topology:
    """CPUs, nodes and devices, without the rest of what `topology` tells."""
    processors = cpus(reader)
    memory = nodes(reader, processors.online)
    hardware = resolve(devices(reader), memory, processors.online)
    return Topology(sections=SECTIONS, cpus=processors, nodes=memory, devices=hardware)


def allowed_cpus(reader: Reader, topology: Topology) -> CpuSet:
    """This process's affinity; of a captured host all that runs, but what was isolated at boot."""
    if not reader.live:
        return topology.cpus.online - topology.cpus.isolated
    return CpuSet(os.sched_getaffinity(0))


def allowed_mems(reader: Reader, topology: Topology) -> CpuSet:
    """Nodes that this process's cpuset lets it take memory from."""
    every = CpuSet(node.id for node in topology.nodes)
    if not reader.live:
        return every
    told = fields(text(reader, "/proc/self/status")).get("Mems_allowed_list")
    return CpuSet.parse(told) if told else every


def may_open(path: str) -> bool:
    """Whether this process may open a device file, which access(2) tells without waking the device."""
    return os.access(path, os.R_OK | os.W_OK)
