"""Message-signalled interrupts by device and MSI index.

A device's msi_irqs/ names its Linux numbers; /sys/kernel/irq/N/hwirq & 0x7ff is the index (drivers/pci/msi/irqdomain.c:
the device is above those bits). A tree without /sys/kernel/irq counts a device's numbers in ascending order, and one
without msi_irqs/ has its devices from the chip names of /proc/interrupts: ``PCI-MSIX-0000:41:00.0  3-edge``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numatune.cpus import CpuSet
from numatune.discover.read import cpu_list, cpu_mask, integer, number, numbered, text
from numatune.host.protocol import Reader
from numatune.topology.model import Device, Interrupt

INDEX_BITS = 0x7FF
_OWNER = re.compile(r"MSIX?-([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\Z")
_HWIRQ = re.compile(r"(\d+)(?:-.*)?\Z", re.ASCII)
_TRIGGERS = frozenset({"Edge", "Level", "None", "edge", "level", "fasteoi"})
_NUMBERS = re.compile(r"\d{1,9}", re.ASCII)
_MODES_TELL = (6, 12)
"""Since then a managed interrupt's smp_affinity is 0444 (Linux commit c7718e5c76d4)."""

_WRITABLE = 0o200


class Row(NamedTuple):
    """A line of /proc/interrupts: `chip` PCI-MSIX-0000:41:00.0, `hwirq` 3, `action` ice-eth0-TxRx-2."""

    chip: str = ""
    hwirq: int | None = None
    action: str = ""


def interrupts(reader: Reader, devices: Sequence[Device]) -> tuple[Interrupt, ...]:
    """Of all PCI devices, by device in their order, then by index."""
    folders = numbered(reader.names("/sys/kernel/irq"), "")
    rows = {} if folders else table(reader.read("/proc/interrupts").text or "")
    owned = {device.address: _msi_irqs(reader, device.address) for device in devices}
    by_order = not folders
    if not any(owned.values()):
        rows = {irq: _row(reader, irq) for irq in folders} or rows
        owned = _owned_by_chip(devices, rows)
        by_order = False
    found = []
    for address, numbers in owned.items():
        told = {irq: rows[irq] if irq in rows else _row(reader, irq) for irq in numbers}
        for place, (irq, row) in enumerate(told.items()):
            index = place if by_order or row.hwirq is None else row.hwirq & INDEX_BITS
            found.append(Interrupt(number=irq, device=address, index=index, name=row.action, chip=row.chip))
    places = {address: place for place, address in enumerate(owned)}
    return tuple(sorted(found, key=lambda irq: (places[irq.device], irq.index)))


def with_affinities(reader: Reader, found: Sequence[Interrupt], kernel: str) -> tuple[Interrupt, ...]:
    """The same with what they are asked to run on, where they do, and whether they can be moved.

    `kernel`: its release.
    """
    modes_tell = _version(kernel) >= _MODES_TELL
    return tuple(_with_affinity(reader, interrupt, modes_tell=modes_tell) for interrupt in found)


def _with_affinity(reader: Reader, interrupt: Interrupt, *, modes_tell: bool) -> Interrupt:
    base = f"/proc/irq/{interrupt.number}"
    held = reader.stat(f"{base}/smp_affinity_list") if modes_tell else None
    return dataclasses.replace(
        interrupt,
        movable=bool(held.mode & _WRITABLE) if held else None,
        requested=_affinity(reader, f"{base}/smp_affinity"),
        effective=_affinity(reader, f"{base}/effective_affinity"),
    )


def table(held: str) -> dict[int, Row]:
    """/proc/interrupts by number, without the kernel's own lines (NMI, LOC)."""
    head, _, body = held.partition("\n")
    columns = len(head.split())
    rows = {}
    for line in body.splitlines():
        name, _, rest = line.partition(":")
        irq, words = integer(name.strip()), rest.split()[columns:]
        if irq is None or not words:
            continue
        hwirq = _HWIRQ.match(words[1]) if len(words) > 1 else None
        action = words[3:] if len(words) > 2 and words[2] in _TRIGGERS else words[2:]  # noqa: PLR2004  # chip, hwirq, trigger
        rows[irq] = Row(words[0], integer(hwirq[1]) if hwirq else None, " ".join(action))
    return rows


def _msi_irqs(reader: Reader, address: str) -> list[int]:
    """Linux numbers, ascending."""
    return sorted(numbered(reader.names(f"/sys/bus/pci/devices/{address}/msi_irqs"), ""))


def _owned_by_chip(devices: Sequence[Device], rows: Mapping[int, Row]) -> dict[str, list[int]]:
    """Numbers by address, from what the chips are called."""
    owned: dict[str, list[int]] = {device.address: [] for device in devices}
    for irq, row in sorted(rows.items()):
        owner = _OWNER.search(row.chip)
        if owner:
            owned.setdefault(owner[1], []).append(irq)
    return owned


def _row(reader: Reader, irq: int) -> Row:
    """From /sys/kernel/irq/N, which has a vector without an action too (a link that is down)."""
    base = f"/sys/kernel/irq/{irq}"
    return Row(
        text(reader, f"{base}/chip_name") or "", number(reader, f"{base}/hwirq"), text(reader, f"{base}/actions") or ""
    )


def _affinity(reader: Reader, path: str) -> CpuSet | None:
    return cpu_list(reader, f"{path}_list") or cpu_mask(reader, path)


def _version(kernel: str) -> tuple[int, ...]:
    return tuple(int(piece) for piece in _NUMBERS.findall(kernel)[:2])
