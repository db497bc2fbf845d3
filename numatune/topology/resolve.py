"""Which node a device belongs to: what the kernel says, and what can be concluded where it says nothing.

The kernel's -1 means that firmware gave no proximity (_PXM), not node 0. Writing to numa_node would taint the kernel
with "Firmware Bug", so an operator's knowledge is an override of ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from numatune.cpus import CpuSet
from numatune.topology.model import Device, Node, ResolvedBy, Topology


def with_overrides(topology: Topology, overrides: Mapping[str, int]) -> Topology:
    """The topology with devices put on the nodes that the operator says, by address in any spelling.

    An override of a device that is not here, or to a node that is not here, changes nothing: see `misplaced`.
    """
    devices = resolve(topology.devices, topology.nodes, topology.cpus.online, overrides)
    return dataclasses.replace(topology, devices=devices)


def with_names(topology: Topology, known: Mapping[tuple[str, int], str]) -> Topology:
    """Interrupts that have no name now (a link is down) with the one that is known, by device and MSI index."""
    named = (
        dataclasses.replace(one, name=known[one.device, one.index])
        if not one.name and (one.device, one.index) in known
        else one
        for one in topology.interrupts
    )
    return dataclasses.replace(topology, interrupts=tuple(named))


def misplaced(topology: Topology, overrides: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """(address, what is wrong) of every override that this host has no device or no node for."""
    addresses = {device.address for device in topology.devices}
    nodes = CpuSet(node.id for node in topology.nodes)
    return tuple(
        (address, f"no device {canonical(address)} here")
        if canonical(address) not in addresses
        else (address, f"no node {node} here; there are {nodes}")
        for address, node in overrides.items()
        if canonical(address) not in addresses or node not in nodes
    )


def canonical(address: str) -> str:
    """A PCI address as sysfs spells it: lower case, four digits of domain unless it has more (NVML gives eight)."""
    domain, colon, rest = address.strip().lower().partition(":")
    if not rest.count(":"):
        domain, colon, rest = "0000", ":", f"{domain}{colon}{rest}"
    return f"{domain.lstrip('0'):0>4}{colon}{rest}"


def resolve(
    devices: Iterable[Device], nodes: Iterable[Node], online: CpuSet, overrides: Mapping[str, int] | None = None
) -> tuple[Device, ...]:
    """The devices with `resolved_node` and `resolved_by` filled in: the first that answers.

    override     the operator
    numa_node    the device's own file
    parent       the nearest bridge above that has a node
    local_cpus   its local CPUs, when they are some but not all of the online CPUs, and all in one node
    """
    devices, nodes = tuple(devices), tuple(nodes)
    known = {node.id for node in nodes}
    told = {canonical(address): node for address, node in (overrides or {}).items()}
    own = {device.address: device.node for device in devices}

    def place(device: Device) -> tuple[int | None, ResolvedBy]:
        if told.get(device.address) in known:
            return told[device.address], "override"
        if device.node in known:
            return device.node, "numa_node"
        for parent in device.parents:
            if own.get(parent) in known:
                return own[parent], "parent"
        local = _node_of(device.local_cpus, nodes, online)
        return (local, "local_cpus") if local is not None else (None, "unknown")

    placed = ((device, *place(device)) for device in devices)
    return tuple(dataclasses.replace(device, resolved_node=node, resolved_by=how) for device, node, how in placed)


def _node_of(local: CpuSet | None, nodes: tuple[Node, ...], online: CpuSet) -> int | None:
    """The one node that has all those CPUs. All CPUs of the machine say nothing, nor do nodes that share CPUs."""
    near = (local or CpuSet()) & online
    if not near or near == online:
        return None
    around = [node.id for node in nodes if near <= node.cpus]
    return around[0] if len(around) == 1 else None
