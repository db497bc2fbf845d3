"""Interrupts: found in /proc/interrupts, judged by the mask (the engine reads the list) and by what is in force.

The hardware number in /proc/interrupts is the MSI index itself where every device has an interrupt domain of its own
(``PCI-MSIX-0000:41:00.0   3-edge``). Older kernels have one domain for all and put the device's address into it
(``PCI-MSI 33554435-edge``): index | bus, device and function << 11 | PCI domain << 27 (drivers/pci/msi/irqdomain.c,
pci_msi_domain_calc_hwirq).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.settings.codecs import CpuMask
from numatune.settings.model import Setting
from numatune.settings.plan import Status
from numatune.settings.targets import IrqAffinity
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import WRITE_BITS, Verdict, differs, fine, holds, unread, verdict

_INTERRUPTS = "/proc/interrupts"
_INDEX = 0x7FF
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_CHIP = re.compile(r"(?P<chip>\S.*?)\s+(?P<hwirq>\d+)(?=-|\s|\Z)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Row:
    """A message-signalled interrupt as /proc/interrupts tells it. `device` is its PCI address."""

    number: int
    device: str
    index: int


def interrupt(setting: Setting, target: IrqAffinity, ask: Asking) -> Verdict:
    """Judge whether it is there, what mask it has, and what is in force."""
    found = _find(target, ask)
    if found is None:
        detail = f"no interrupt {target.index} of {target.device}"
        return unread(setting, Answer(None, _INTERRUPTS, "absent", detail))
    number, told_by = found
    path = f"/proc/irq/{number}/smp_affinity"
    answer = ask.file(path)
    if answer.text is None:
        return unread(setting, answer)
    mask = CpuSet.parse_mask(answer.text)
    answer = Answer(answer.text if isinstance(setting.codec, CpuMask) else str(mask), f"{told_by}, {path}")
    if not holds(setting, answer.text or ""):
        if not ask.mode(path) & WRITE_BITS:
            return verdict(setting, Status.UNCHANGEABLE, answer, f"interrupt {number} is the kernel's to place")
        return differs(setting, answer, path, ask)
    effective = ask.file(f"/proc/irq/{number}/effective_affinity").text  # not on every architecture
    in_force = CpuSet.parse_mask(effective) if effective else CpuSet()
    if not in_force <= mask:
        message = f"still on {in_force}, moves when interrupt {number} next fires"
        return verdict(setting, Status.PENDING, answer, message)
    return fine(setting, answer)


def _find(target: IrqAffinity, ask: Asking) -> tuple[int, str] | None:
    """Number of the interrupt, and who told. /proc/interrupts leaves out those that nobody has asked for yet."""
    for row in parse(ask.once(_INTERRUPTS).text or ""):
        if (row.device, row.index) == (target.device, target.index):
            return row.number, _INTERRUPTS
    folder = f"/sys/bus/pci/devices/{target.device}/msi_irqs"
    for name in ask.names(folder):
        hardware = ask.file(f"/sys/kernel/irq/{name}/hwirq").text or ""
        if hardware.strip().isdecimal() and int(hardware) & _INDEX == target.index:
            return int(name), folder
    return None


def parse(text: str) -> Iterator[Row]:
    """The message-signalled interrupts in /proc/interrupts, whose head has one word per online CPU."""
    lines = text.splitlines()
    columns = len(lines[0].split()) if lines else 0
    for line in lines[1:]:
        number, _, rest = line.partition(":")
        words = rest.split(None, columns)
        chip = _CHIP.match(words[columns]) if len(words) > columns else None
        if chip and "MSI" in chip["chip"] and number.strip().isdecimal():
            hardware = int(chip["hwirq"])
            yield Row(int(number), _device(chip["chip"], hardware), hardware & _INDEX)


def _device(chip: str, hardware: int) -> str:
    """The address in the chip's name, or the one in the hardware number of the one domain for all."""
    if address := _ADDRESS.search(chip):
        return address[0]
    function, bus, domain = hardware >> 11 & 0xFF, hardware >> 19 & 0xFF, hardware >> 27
    return f"{domain:04x}:{bus:02x}:{function >> 3:02x}.{function & 7}"
