"""PCI Express links, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Of a device to the bridge above it: lanes, and GT/s as the kernel spells them (``16.0 GT/s PCIe``).

    `most_lanes`, `most_speed`: what the device can. None where nothing tells: a device inside the CPU has no link.
    """

    lanes: int | None = None
    speed: str | None = None
    most_lanes: int | None = None
    most_speed: str | None = None
