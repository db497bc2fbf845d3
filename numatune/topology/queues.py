"""The queues of network interfaces, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """Of one interface of a PCI device: numbers of its receive and transmit queues."""

    interface: str
    device: str
    receive: tuple[int, ...] = ()
    transmit: tuple[int, ...] = ()
