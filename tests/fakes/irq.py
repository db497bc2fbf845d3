"""Interrupts: masks that are checked, moves that wait for the next interrupt, managed ones, numbers that change."""

from __future__ import annotations

import errno
import re

from fakes.kernel import Behaviour, FakeKernel
from numatune.compat import override
from numatune.cpus import CpuSet

DEFAULT = "/proc/irq/default_smp_affinity"
_FILE = re.compile(r"/proc/irq/(\d+)/(smp_affinity|smp_affinity_list)\Z")
_ANY = re.compile(r"/(?:proc|sys/kernel|sys/kernel/debug/irq)/irqs?/(?P<number>\d+)(?P<rest>/.*|\Z)")
_MSI = re.compile(r"/sys/devices/pci.*/(?P<device>[^/]+)/msi_irqs/(?P<number>\d+)\Z")


class Interrupts(Behaviour):
    """/proc/irq.

    A managed one is refused before its text is looked at: EPERM by its mode 0444 since Linux 6.12, EIO before. Without
    interrupt remapping (no IR- in the chip's name) a move waits until the interrupt fires: see `fire`.
    """

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if path == DEFAULT:
            asked = _mask(kernel, text)
            if isinstance(asked, CpuSet):
                kernel.files[path] = f"{asked.mask(_width(kernel))}\n"
            return 0 if isinstance(asked, CpuSet) else asked
        found = _FILE.match(path)
        if not found:
            return None
        number = found[1]
        if "IRQD_AFFINITY_MANAGED" in kernel.files.get(f"/sys/kernel/debug/irq/irqs/{number}", ""):
            return errno.EIO
        asked = _mask(kernel, text) if found[2] == "smp_affinity" else _list(kernel, text)
        if not isinstance(asked, CpuSet):
            return asked
        kernel.files[f"/proc/irq/{number}/smp_affinity_list"] = f"{asked}\n"
        kernel.files[f"/proc/irq/{number}/smp_affinity"] = f"{asked.mask(_width(kernel))}\n"
        if kernel.files[f"/sys/kernel/irq/{number}/chip_name"].startswith("IR-"):
            fire(kernel, number)
        return 0

    @override
    def refused(self, kernel: FakeKernel, path: str, mode: int) -> int | None:
        return errno.EPERM if _FILE.match(path) and not kernel.uid else None

    @override
    def snapshot(self, kernel: FakeKernel, state: dict[str, str]) -> None:
        """By device and index; where an interrupt really runs and how often it ran is nobody's to give back."""
        names = {number: f"{address}/{_index(kernel, number)}" for address, number in _messages(kernel)}
        numbered = ("/proc/irq/", "/sys/kernel/irq/", "/sys/kernel/debug/irq/", "/proc/interrupts")
        for path in [path for path in state if path.startswith(numbered)]:
            text = state.pop(path)
            found = _ANY.match(path)
            if found and found["number"] in names and not re.search("effective|per_cpu_count", path):
                state[f"irq:{names[found['number']]}{found['rest']}"] = text
            elif path == DEFAULT:
                state[path] = text
        for path in [path for path in state if _MSI.match(path)]:
            del state[path]


def fire(kernel: FakeKernel, number: str | int) -> None:
    """The interrupt comes, and is moved to where its mask wants it, if it is not there yet."""
    base = f"/proc/irq/{number}"
    mask = CpuSet.parse(kernel.files[f"{base}/smp_affinity_list"]) & _online(kernel)
    if CpuSet.parse(kernel.files[f"{base}/effective_affinity_list"]) <= mask:
        return
    kernel.files[f"{base}/effective_affinity_list"] = f"{mask.first}\n"
    kernel.files[f"{base}/effective_affinity"] = f"{CpuSet([mask.first]).mask(_width(kernel))}\n"


def fire_all(kernel: FakeKernel) -> None:
    """Every device is busy for a moment."""
    for _, number in _messages(kernel):
        fire(kernel, number)


def rebind(kernel: FakeKernel, device: str, *, keep: bool = False) -> dict[str, str]:
    """The driver of a device is bound again: its interrupts get new numbers. Returns old -> new.

    They start on the default mask, as a kernel starts them; `keep`: on the one they had.
    """
    highest = max(int(number) for _, number in _messages(kernel))
    numbers = [number for address, number in _messages(kernel) if address == device]
    moved = {old: str(highest + 1 + place) for place, old in enumerate(reversed(numbers))}
    for path in [*kernel.files, *(f"{folder}/" for folder in kernel.folders)]:
        found = _MSI.match(path) or _ANY.match(path)
        if found and found["number"] in moved:
            new = path[: found.start("number")] + moved[found["number"]] + path[found.end("number") :]
            kernel.put(new, kernel.files.get(path, ""), kernel.modes.get(path))
            kernel.remove(path.rstrip("/"))
    for new in moved.values():
        if not keep and kernel.modes.get(f"/proc/irq/{new}/smp_affinity_list", 0o644) & 0o200:
            default = CpuSet.parse_mask(kernel.files[DEFAULT])
            kernel.files[f"/proc/irq/{new}/smp_affinity_list"] = f"{default}\n"
            kernel.files[f"/proc/irq/{new}/smp_affinity"] = f"{default.mask(_width(kernel))}\n"
    return moved


def _messages(kernel: FakeKernel) -> list[tuple[str, str]]:
    """(device, number) of every message-signalled interrupt."""
    found = (_MSI.match(path) for path in kernel.files)
    return [(match["device"], match["number"]) for match in found if match]


def _index(kernel: FakeKernel, number: str) -> int:
    return int(kernel.files[f"/sys/kernel/irq/{number}/hwirq"]) & 0x7FF


def _online(kernel: FakeKernel) -> CpuSet:
    return CpuSet.parse(kernel.files["/sys/devices/system/cpu/online"])


def _width(kernel: FakeKernel) -> int:
    return CpuSet.parse(kernel.files["/sys/devices/system/cpu/possible"]).last + 1


def _list(kernel: FakeKernel, text: str) -> CpuSet | int:
    try:
        asked = CpuSet.parse(text)
    except ValueError:
        return errno.EINVAL
    if asked and asked.last >= _width(kernel):
        return errno.ERANGE
    return asked if asked & _online(kernel) else errno.EINVAL


def _mask(kernel: FakeKernel, text: str) -> CpuSet | int:
    try:
        asked = CpuSet.parse_mask(text)
    except ValueError:
        return errno.EINVAL
    groups = text.strip().count(",") + 1
    if groups > (_width(kernel) + 31) // 32 or (asked and asked.last >= _width(kernel)):
        return errno.EOVERFLOW
    return asked if asked & _online(kernel) else errno.EINVAL
