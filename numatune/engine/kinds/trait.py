"""What is measured of a host's hardware and never written, by the topology that discover/ finds."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import assert_never

from numatune.host.once import AskedOnce
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs.measures import size
from numatune.settings.measures import (
    Beside,
    Devices,
    Match,
    Measure,
    Memory,
    NodeKnown,
    Nodes,
    NodesPerPackage,
    OnlineCpus,
    Threads,
)
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import Trait
from numatune.topology.match import matches
from numatune.topology.memory import total_memory
from numatune.topology.model import Device, Node, Section, Topology
from numatune.topology.resolve import with_overrides

_STEP = 128 << 20
"""Bytes. Memory sizes differ a little from boot to boot."""

_KINDS = {
    "cpu": {"cpu+mem"},
    "cpu_only": {"cpu-only"},
    "memory": {"cpu+mem", "memory-only"},
    "memory_only": {"memory-only"},
}


def look(target: Trait, setting: Setting, reader: Reader) -> Observation:  # noqa: ARG001  # one signature for all kinds
    """The measure as text; None where nothing tells."""
    found = reader.made(_topology) if isinstance(reader, AskedOnce) else _topology(reader)
    text = measured(target.of, with_overrides(found, dict(target.told)))
    return Observation(text, 0 if text is not None else errno.ENOENT, _where(target.of))


def write(target: Trait, change: Change, host: Host) -> int:  # noqa: ARG001  # one signature for all kinds
    """No plan writes a trait; EPERM says so if one ever does."""
    return errno.EPERM


def measured(measure: Measure, topology: Topology) -> str | None:  # noqa: PLR0911  # one return a measure
    """The number, with what was counted: ``2 (0-1)``. None where the host does not tell."""
    match measure:
        case OnlineCpus():
            return f"{len(topology.cpus.online)} ({topology.cpus.online})"
        case Threads():
            return _threads(topology)
        case Nodes(which=which):
            return _nodes(which, topology)
        case NodesPerPackage():
            return _per_package(topology)
        case Memory(which=which):
            return _MEMORY[which](topology)
        case Devices(match=match, per_node=per_node):
            return _fewest(match, topology) if per_node else _counted(_matching(match, topology))
        case NodeKnown(device=address):
            found = _device(address, topology)
            return None if found is None else "unknown" if _place(found, topology) is None else "known"
        case Beside():
            return _beside(measure, topology)
        case _:
            assert_never(measure)


def _topology(reader: Reader) -> Topology:
    from numatune.discover import discover  # noqa: PLC0415  # only who expects something of the hardware pays for it

    return discover(reader, {Section.NODES, Section.DEVICES})


def _where(measure: Measure) -> str:
    match measure:
        case OnlineCpus():
            return "/sys/devices/system/cpu/online"
        case Threads():
            return "/sys/devices/system/cpu/cpu*/topology"
        case Nodes() | NodesPerPackage():
            return "/sys/devices/system/node"
        case Memory(which=which):
            return "/proc/meminfo" if which == "total" else "/sys/devices/system/node/node*/meminfo"
        case Devices() | NodeKnown() | Beside():
            return "/sys/bus/pci/devices"
        case _:
            assert_never(measure)


def _threads(topology: Topology) -> str | None:
    """By the cores: of smt/control off, forceoff and notsupported are one here, and notimplemented tells nothing."""
    cpus = topology.cpus
    if not cpus.cores or not (cpus.packages or cpus.smt_control):
        return None
    most = max(len(core.cpus) for core in cpus.cores)
    return f"{most} ({cpus.smt_control})" if cpus.smt_control else str(most)


def _nodes(which: str, topology: Topology) -> str | None:
    if not topology.numa:
        return None
    ids = [str(node.id) for node in topology.nodes if which == "all" or node.kind in _KINDS[which]]
    return f"{len(ids)} ({','.join(ids)})" if ids else "0"


def _per_package(topology: Topology) -> str | None:
    nodes, packages = _with_cpus(topology), topology.cpus.packages
    if not nodes or not packages:
        return None
    for node in nodes:
        spanned = [str(package) for package, cpus in packages.items() if cpus & node.cpus]
        if len(spanned) > 1:
            return f"0 (node {node.id} spans packages {','.join(spanned)})"
    counts = {package: sum(bool(node.cpus & cpus) for node in nodes) for package, cpus in packages.items()}
    if len(set(counts.values())) == 1:
        return str(next(iter(counts.values())))
    return ", ".join(f"{count} in package {package}" for package, count in counts.items())


def _total(topology: Topology) -> str | None:
    total = total_memory(topology)
    return None if total is None else str(_rounded(total))


def _smallest(topology: Topology) -> str | None:
    sizes = _sizes(topology)
    if not sizes:
        return None
    held, node = min(sizes)
    return f"{_rounded(held)} (node {node})"


def _imbalance(topology: Topology) -> str | None:
    """In whole percent, rounded up."""
    sizes = _sizes(topology)
    if not sizes:
        return None
    (least, small), (most, large) = min(sizes), max(sizes)
    if not most or len(sizes) == 1:
        return "0" if most else None
    percent = -(-(most - least) * 100 // most)
    return f"{percent} (node {small} has {size(_rounded(least))}, node {large} {size(_rounded(most))})"


_MEMORY = {"total": _total, "smallest_node": _smallest, "imbalance": _imbalance}


def _sizes(topology: Topology) -> list[tuple[int, int]]:
    """(bytes, id) of nodes with CPUs; none when one of them does not tell."""
    nodes = _with_cpus(topology)
    known = [(node.memory_bytes, node.id) for node in nodes if node.memory_bytes is not None]
    return known if len(known) == len(nodes) else []


def _rounded(count: int) -> int:
    return count // _STEP * _STEP


def _with_cpus(topology: Topology) -> list[Node]:
    return [node for node in topology.nodes if node.cpus]


def _matching(match: Match, topology: Topology) -> list[Device]:
    return [device for device in topology.devices if matches(match, device)]


def _counted(devices: Sequence[Device]) -> str:
    return f"{len(devices)} ({' '.join(device.address for device in devices)})" if devices else "0"


def _fewest(match: Match, topology: Topology) -> str | None:
    places = [_place(device, topology) for device in _matching(match, topology)]
    counts = [(places.count(node.id), node.id) for node in _with_cpus(topology)]
    if not counts:
        return None
    fewest, node = min(counts)
    unknown = f"; {places.count(None)} at an unknown node" if None in places else ""
    return f"{fewest} (node {node}{unknown})"


def _beside(measure: Beside, topology: Topology) -> str | None:
    device = _device(measure.device, topology)
    if device is None:
        return None
    others = [other for other in _matching(measure.match, topology) if other is not device]
    if measure.within == "switch":
        return _counted([other for other in others if set(other.parents) & set(device.parents)])
    place = _place(device, topology)
    if place is None:
        return "0 (its own node is unknown)"
    return _counted([other for other in others if _place(other, topology) == place])


def _place(device: Device, topology: Topology) -> int | None:
    """The node of a device; where there is only one it is that."""
    if device.resolved_node is None and len(topology.nodes) == 1:
        return topology.nodes[0].id
    return device.resolved_node


def _device(address: str, topology: Topology) -> Device | None:
    return next((device for device in topology.devices if device.address == address), None)
