"""What a launch looks at: the parts of a host's topology that placement needs, and what this process may have."""

from __future__ import annotations

import os
from dataclasses import replace

from numatune.cpus import CpuSet
from numatune.discover.cpus import cpus
from numatune.discover.devices import devices
from numatune.discover.nodes import nodes
from numatune.discover.read import fields, text
from numatune.host.protocol import Reader
from numatune.launch.visible import NVIDIA, Visible, placed, unplaced
from numatune.topology.model import Section, Topology
from numatune.topology.resolve import resolve

SECTIONS = frozenset({Section.CPUS, Section.NODES, Section.DEVICES})


def look(reader: Reader) -> Topology:
    """CPUs, nodes and devices, without the rest of what `topology` tells."""
    processors = cpus(reader)
    memory = nodes(reader, processors.online)
    hardware = resolve(devices(reader), memory, processors.online)
    return Topology(sections=SECTIONS, cpus=processors, nodes=memory, devices=hardware)


def ask_library(topology: Topology, seen: Visible) -> tuple[Topology, Visible]:
    """What neither kernel nor profile tells, from NVIDIA's library: nodes of devices, devices of MIG instances.

    Nodes are not asked for where one node has all CPUs.
    """
    if seen.vendor != NVIDIA:
        return topology, seen
    lost = [
        one.address
        for one in topology.devices
        if one.resolved_node is None and one.kind == "accelerator" and one.vendor == NVIDIA
    ]
    lost = lost if sum(bool(node.cpus) for node in topology.nodes) > 1 else []
    instances = unplaced(seen)
    if not lost and not instances:
        return topology, seen
    from numatune.launch import nvml  # noqa: PLC0415  # hardly ever needed

    told = nvml.ask([*lost, *instances])
    nodes = {address: int(node) for address, node in told.items() if address in lost and node.isdigit()}
    devices = tuple(
        replace(one, resolved_node=nodes[one.address], resolved_by="nvml")
        if topology.node(nodes.get(one.address, -1))
        else one
        for one in topology.devices
    )
    return replace(topology, devices=devices), placed(seen, {name: told[name] for name in instances if name in told})


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
