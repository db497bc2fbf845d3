"""Devices as cards, those below one switch in a frame."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.topology.model import Device, ResolvedBy
from numatune.views.pci import Group, identity, link
from numatune.views.picture.boxes import Box
from numatune.views.picture.facts import Facts
from numatune.views.picture.flow import Block, rows, stack
from numatune.views.picture.frames import Line, framed
from numatune.views.picture.measure import fitting, folded
from numatune.views.served import Interrupts
from numatune.views.style import plural

KINDS = {
    "accelerator": "accelerator",
    "nic": "network",
    "infiniband": "InfiniBand",
    "nvme": "NVMe",
    "other": "PCI",
}
CARD = 140
_PAD, _SIZE, _FEW = 7, 10, 3
_BY: dict[ResolvedBy, str] = {
    "override": "node by override",
    "parent": "node by bridge above",
    "local_cpus": "node by local CPUs",
    "nvml": "node by NVML",
}


def groups(inside: Sequence[Group], facts: Facts, width: int) -> Block:
    """Cards of devices, and frames of those that share a bridge, in rows."""
    alone = [_card(device, facts) for group in inside if not group.bridge for device in group.devices]
    shared = [_group(group, facts, width) for group in inside if group.bridge]
    return stack([rows(alone, width, 6, even="device"), rows(shared, width, 6, even="switch")], 8)


def _group(group: Group, facts: Facts, width: int) -> Box:
    cards = rows([_card(device, facts) for device in group.devices], width - 12, 6, even="device")
    what = "PCIe switch" if group.switch else "PCI bridge"
    lines: list[Line] = [(f"{what} {group.bridge}", "faint", 9)]
    if group.root != group.bridge:
        lines.append((f"root port {group.root}", "faint", 9))
    tip = f"{plural(len(group.devices), 'device')} below {group.bridge} share its way to the host"
    return framed(Box(kind="switch", key=group.bridge, tip=tip), lines, cards, pad=6)


def _card(device: Device, facts: Facts) -> Box:
    told = facts.served[device.address]
    lines = _lines(", ".join(filter(None, (KINDS[device.kind], device.driver))), "faint", 9)
    lines += _lines(" ".join(device.names), "name", 11) if device.names else []
    lines += _lines(device.address, "" if device.names else "name", _SIZE)
    lines += _lines(identity(device), "faint", _SIZE)
    now, best = link(facts.found, device)
    lines += _lines(now, "faint", _SIZE) + _lines(best, "warning", _SIZE)
    lines += _lines(_BY.get(device.resolved_by, ""), "faint", _SIZE)
    lines += _lines(plural(told.count, "interrupt") if told.count else "", "", _SIZE)
    lines += [line for text in _away(told) for line in _lines(text, "warning", _SIZE)]
    box = Box(kind=f"device {device.kind}", key=device.address, tip=_tip(device, facts), width=CARD)
    return framed(box, lines, Block(), pad=_PAD)


def _away(told: Interrupts) -> list[str]:
    """Interrupts that other nodes serve, node by node where there are few."""
    if len(told.away) > _FEW:
        return [f"{sum(told.away.values())} on {len(told.away)} others"]
    return [f"{count} on node {node}" for node, count in told.away.items()]


def _lines(text: str, kind: str, size: int) -> list[Line]:
    return [(line, kind, size) for line in folded(text, fitting(CARD - 2 * _PAD, size))]


def _tip(device: Device, facts: Facts) -> str:
    told = facts.served[device.address]
    node = "no known node" if device.resolved_node is None else f"node {device.resolved_node}"
    lines = [f"{KINDS[device.kind]} {device.address}, {node}", f"class {device.class_}, {identity(device)}"]
    if device.parents:
        lines.append(f"below {', '.join(device.parents)}")
    for number, count in told.by_node.items():
        place = "several nodes, or not told" if number is None else f"node {number}"
        lines.append(f"{plural(count, 'interrupt')} on {place}")
    if told.kernels:
        lines.append(f"{plural(told.kernels, 'interrupt')} that only the kernel moves")
    return "\n".join(lines)
