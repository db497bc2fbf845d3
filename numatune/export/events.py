"""What tells that interrupts have lost their CPUs: a udev rule, and hooks for what raises no event of udev.

A driver that is bound again, and a NIC that is plugged in or renamed, raise ``add``, ``bind`` or ``move``. A link that
goes down and up, and ``ethtool -L``, raise none: for those there are the folders of the programs that watch links.
"""

from __future__ import annotations

from collections.abc import Iterable

from numatune.export.place import OURS
from numatune.settings.persisted import IRQ

_WANTS = f'TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{IRQ}"'


def rules(devices: Iterable[str], ours: str = OURS) -> str:
    """Rules of udev for the PCI devices at these addresses, and for every network interface that has a device.

    A PCI device is tagged for systemd by ``bind`` alone: the tag goes with any later event, so that the next ``bind``
    makes its unit of systemd come up, and pull in what it wants, once more. Nothing is RUN: udev would kill it.
    """
    lines = [
        f'ACTION=="bind", SUBSYSTEM=="pci", KERNEL=="{address}", {_WANTS}'
        for address in sorted(set(devices))
        if address.count(":") == 2  # noqa: PLR2004  # domain:bus:device.function
    ]
    lines.append(f'ACTION=="add|move", SUBSYSTEM=="net", DEVPATH!="/devices/virtual/*", {_WANTS}')
    return "\n".join([ours, *lines, ""])


def hook(ours: str = OURS) -> str:
    """A script for a folder of networkd-dispatcher."""
    return f"#!/bin/sh\n{ours}\nexec systemctl start --no-block {IRQ}\n"


def hook_of_network_manager(ours: str = OURS) -> str:
    """The same for NetworkManager, which says what happened in its second word (NetworkManager-dispatcher(8))."""
    return f'#!/bin/sh\n{ours}\n[ "$2" != up ] || exec systemctl start --no-block {IRQ}\n'
