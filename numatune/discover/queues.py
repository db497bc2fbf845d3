"""Queues of the network interfaces that PCI devices have (Documentation/networking/scaling.rst)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numatune.discover.read import numbered
from numatune.host.protocol import Reader
from numatune.topology.model import Device
from numatune.topology.queues import Queues

BASE = "/sys/class/net"


def queues(reader: Reader, devices: Iterable[Device]) -> Iterator[Queues]:
    """By device, then by name. Names that are no interfaces (mlx5_0) have none."""
    for device in devices:
        for name in device.names:
            found = reader.names(f"{BASE}/{name}/queues")
            if found:
                yield Queues(
                    interface=name,
                    device=device.address,
                    receive=tuple(sorted(numbered(found, "rx-"))),
                    transmit=tuple(sorted(numbered(found, "tx-"))),
                )
