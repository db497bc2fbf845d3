"""PCI devices as people know them: their maker, their kind, and which of them share a switch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numatune.topology.model import Device, DeviceKind, Topology

KINDS: tuple[DeviceKind, ...] = ("accelerator", "nic", "infiniband", "nvme", "other")
"""In the order in which they are shown."""

VENDORS = {
    "1002": "AMD",
    "1022": "AMD",
    "10de": "NVIDIA",
    "10ee": "Xilinx",
    "1344": "Micron",
    "144d": "Samsung",
    "14e4": "Broadcom",
    "15b3": "Mellanox",
    "17db": "Cray",
    "1af4": "virtio",
    "1d0f": "Amazon",
    "1da3": "Habana",
    "1ae0": "Google",
    "8086": "Intel",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Devices below one bridge that they share; `bridge` "": devices that share none.

    root     the bridge at the top, which the kernel calls a root port
    switch   every device has a bridge of its own below the shared one, as a PCIe switch's ports are
    """

    bridge: str
    devices: tuple[Device, ...]
    root: str = ""
    switch: bool = False


def shown(found: Topology, *, everything: bool) -> tuple[Device, ...]:
    """The devices that matter for placement, or all of them."""
    return tuple(device for device in found.devices if everything or device.kind != "other")


def identity(device: Device) -> str:
    """``NVIDIA 10de:2330``."""
    return f"{VENDORS.get(device.vendor, '')} {device.vendor}:{device.device}".strip()


def link(found: Topology, device: Device) -> tuple[str, str]:
    """(``x16, 32.0 GT/s``, ``of x16, 32.0 GT/s`` where the device can do more); "" for what is not known."""
    held = found.links.get(device.address)
    if held is None:
        return "", ""
    now = _link(held.lanes, held.speed)
    best = _link(held.most_lanes, held.most_speed)
    return now, f"of {best}" if now and best and now != best else ""


def _link(lanes: int | None, speed: str | None) -> str:
    told = [f"x{lanes}" if lanes else "", (speed or "").removesuffix(" PCIe")]
    return ", ".join(word for word in told if word)


def grouped(devices: Sequence[Device]) -> tuple[Group, ...]:
    """Devices by the nearest bridge that another one is below too; first those that share none.

    Functions of one device (41:00.0 and 41:00.1) share everything and say nothing of a switch.
    """
    below: dict[str, set[str]] = {}
    for device in devices:
        for bridge in device.parents:
            below.setdefault(bridge, set()).add(_slot(device))
    by_bridge: dict[str, list[Device]] = {}
    for device in devices:
        shared = (bridge for bridge in device.parents if len(below[bridge]) > 1)
        by_bridge.setdefault(next(shared, ""), []).append(device)
    made = (_group(bridge, by_kind(inside)) for bridge, inside in by_bridge.items())
    return tuple(sorted(made, key=lambda group: (bool(group.bridge), group.root, group.bridge)))


def by_kind(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Accelerators first; of one kind they keep their order."""
    return tuple(sorted(devices, key=lambda device: KINDS.index(device.kind)))


def _group(bridge: str, devices: tuple[Device, ...]) -> Group:
    if not bridge:
        return Group(bridge="", devices=devices)
    switch = all(device.parents.index(bridge) > 0 for device in devices)
    return Group(bridge=bridge, devices=devices, root=devices[0].parents[-1], switch=switch)


def _slot(device: Device) -> str:
    return device.address.partition(".")[0]
