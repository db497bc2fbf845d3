"""PCI Express links (Documentation/ABI/testing/sysfs-bus-pci: current_link_width and its neighbours)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numatune.discover.read import integer, text
from numatune.host.protocol import Reader
from numatune.topology.links import Link
from numatune.topology.model import Device

_UNKNOWN_LANES = frozenset({0, 255})
"""What the kernel prints for a link that is down, or none (PCIE_LNK_WIDTH_UNKNOWN)."""


def links(reader: Reader, devices: Iterable[Device]) -> Iterator[tuple[str, Link]]:
    """(address, link) of each device that has one, with whatever is known of it."""
    for device in devices:
        link = Link(
            lanes=_lanes(reader, device.files("current_link_width")),
            speed=_speed(reader, device.files("current_link_speed")),
            most_lanes=_lanes(reader, device.files("max_link_width")),
            most_speed=_speed(reader, device.files("max_link_speed")),
        )
        if link != Link():
            yield device.address, link


def _lanes(reader: Reader, paths: tuple[str, ...]) -> int | None:
    found = integer(text(reader, *paths) or "")
    return None if found in _UNKNOWN_LANES else found


def _speed(reader: Reader, paths: tuple[str, ...]) -> str | None:
    found = text(reader, *paths)
    return found if found and found[0].isdecimal() else None
