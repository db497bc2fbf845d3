"""The CPUs of a device's interrupt, found by device and MSI index at every read and every write.

A number is no identity: it changes when a driver is bound again, and another device may get it. msi_irqs/ tells whose a
number is, /sys/kernel/irq/N/hwirq & 0x7ff which of the device's it is (Linux drivers/pci/msi/irqdomain.c).
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from functools import lru_cache

from numatune.cpus import CpuSet
from numatune.engine.kinds.access import refused
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation, Status
from numatune.settings.targets import IrqAffinity

_INDEX_BITS = 0x7FF
_HWIRQ = re.compile(r"[0-9]{1,20}")
_ROW = re.compile(
    r"^ *(\d+):[ \d]*\S*MSIX?-([0-9a-f]+:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) +(\d{1,20})\b", re.ASCII | re.MULTILINE
)

_seen_at: dict[tuple[str, int], str] = {}
"""(device, index) -> the number it had when last looked for. A hint, checked again on the host at each use: it makes a
pass over 4,096 interrupts linear and can never name a stale number."""

REFUSALS: Mapping[int, tuple[Status, str]] = {
    errno.EPERM: (Status.UNCHANGEABLE, "the kernel manages this interrupt itself"),
    errno.EIO: (Status.UNCHANGEABLE, "the kernel manages this interrupt itself"),  # before 6.12
    errno.EROFS: (Status.DENIED, "/proc/irq is on a read-only mount"),
    errno.EACCES: (Status.DENIED, "writing needs root"),
    errno.ENOENT: (Status.UNSUPPORTED, "the device no longer has this interrupt"),
    errno.ERANGE: (Status.FAILED, "the list names a CPU beyond those that this kernel can have"),
    errno.EOVERFLOW: (Status.FAILED, "the mask names a CPU beyond those that this kernel can have"),
    errno.EINVAL: (Status.FAILED, "none of the CPUs is online"),
    errno.ENOSPC: (Status.FAILED, "these CPUs have no interrupt vector left"),
    errno.EBUSY: (Status.FAILED, "the kernel is still moving this interrupt"),
    errno.EAGAIN: (Status.FAILED, "the kernel is still moving this interrupt"),
}
"""What a refused write of an affinity means. It is refused as managed before its text is even parsed, so EPERM and EIO
say nothing about the text."""


def look(target: IrqAffinity, setting: Setting, reader: Reader) -> Observation:
    """What the interrupt is asked to run on, and where it does run.

    Whether it can be written is asked only where the wanted mask is not held; `errno` beside a text then says why not:
    EPERM from mode 0444 (managed, Linux 6.12 and later), EROFS. `writable` None: older kernels keep 0644 on managed
    ones, so only trying would tell.
    """
    number = find(target, reader)
    if number is None:
        return Observation(None, errno.ENOENT, _folder(target.device))
    where = f"/proc/irq/{number}/smp_affinity_list"
    asked = reader.read(where)
    if asked.text is None:
        return Observation(None, asked.errno, where, number)
    effective = (reader.read(f"/proc/irq/{number}/effective_affinity_list").text or "").strip() or None
    pending = effective is not None and not _within(effective, asked.text)
    if setting.want is None or meets(setting.codec, setting.want, asked.text):
        return Observation(asked.text, 0, where, number, effective, pending)
    refusal = refused(where, reader)
    if refusal == errno.EACCES:
        refusal = errno.EPERM
    return Observation(asked.text, refusal, where, number, effective, pending, writable=False if refusal else None)


def write(target: IrqAffinity, change: Change, host: Host) -> int:
    """Write to the number that the interrupt has now. 0 or the errno; ENOENT when the device has it no more."""
    number = find(target, host)
    if number is None:
        return errno.ENOENT
    for text in change.writes:
        if failed := host.write(f"/proc/irq/{number}/smp_affinity_list", text):
            return failed
    return 0


def find(target: IrqAffinity, reader: Reader) -> str | None:
    """The number that the interrupt has at this moment, None when the device has none of that index.

    A captured tree may lack what a kernel has: without msi_irqs/ the chip names of /proc/interrupts tell
    (``PCI-MSIX-0000:41:00.0  3-edge``), without /sys/kernel/irq a device's numbers count in ascending order.
    """
    key = (target.device, target.index)
    hint = _seen_at.get(key)
    if hint and reader.stat(f"{_folder(target.device)}/{hint}") and msi_index(hint, reader) == target.index:
        return hint
    numbers = reader.names(_folder(target.device))
    if not numbers and not reader.live:
        return _by_chip(reader.read("/proc/interrupts").text or "").get(key)
    if reader.stat("/sys/kernel/irq") is None:
        return dict(enumerate(numbers)).get(target.index)
    now = {msi_index(number, reader): number for number in numbers}
    _seen_at.update({(target.device, index): number for index, number in now.items() if index is not None})
    return now.get(target.index)


def _folder(device: str) -> str:
    return f"/sys/bus/pci/devices/{device}/msi_irqs"


def msi_index(number: str, reader: Reader) -> int | None:
    """An interrupt's place among its device's, from the 64 bits of ``hwirq``; None where the host does not tell."""
    text = (reader.read(f"/sys/kernel/irq/{number}/hwirq").text or "").strip()
    return int(text) & _INDEX_BITS if _HWIRQ.fullmatch(text) else None


@lru_cache(maxsize=1)
def _by_chip(table: str) -> Mapping[tuple[str, int], str]:
    """Numbers by device and index, of a whole /proc/interrupts."""
    return {(row[2], int(row[3]) & _INDEX_BITS): row[1] for row in _ROW.finditer(table)}


def _within(inner: str, outer: str) -> bool:
    """Whether one list lies in the other. What is no list gives no ground to call anything pending."""
    try:
        return CpuSet.parse(inner) <= CpuSet.parse(outer)
    except ValueError:
        return True
