"""What a kernel does not take, and what it takes and holds differently."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass

from fakes.kernel import Behaviour, FakeKernel
from fakes.tree_kernel import version
from numatune.compat import override
from numatune.cpus import CpuSet

RANGES = {
    "kernel/numa_balancing": (0, 4),
    "kernel/timer_migration": (0, 1),
    "kernel/watchdog_thresh": (0, 60),
    "vm/compaction_proactiveness": (0, 100),
    "vm/min_slab_ratio": (0, 100),
    "vm/min_unmapped_ratio": (0, 100),
    "vm/numa_stat": (0, 1),
    "vm/overcommit_memory": (0, 2),
    "vm/swappiness": (0, 200),
    "vm/watermark_scale_factor": (1, 3000),
}
"""What these sysctls enforce; the others take any integer."""

_NUMBER = re.compile(r"[ \t]*(-?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)(?:\s|\Z)")


class Sysctls(Behaviour):
    """proc_dointvec: base 0, "1 2" over one number stores 1, garbage and what is out of range is EINVAL."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        held = kernel.files[path].split()
        name = path.removeprefix("/proc/sys/")
        if name == path or not held or not all(re.fullmatch(r"-?\d+", word) for word in held):
            return None
        values, rest = [], text
        while len(values) < len(held) and (match := _NUMBER.match(rest)):
            values.append(int(match[1] + _decimal(match[2])))
            rest = rest[match.end() :]
        low, high = RANGES.get(name, (-(1 << 63), 1 << 63))
        if not values or not all(low <= value <= high for value in values):
            return errno.EINVAL
        if name == "kernel/numa_balancing" and values[0] > 1 and _before_5_18(kernel):
            return errno.EINVAL
        kept = [*(str(value) for value in values), *held[len(values) :]]
        kernel.files[path] = "\t".join(kept) + "\n"
        return 0


def _before_5_18(kernel: FakeKernel) -> bool:
    return version(kernel.files["/proc/sys/kernel/osrelease"]) < (5, 18)


class SchedDebug(Behaviour):
    """debugfs stores what it is given in 32 bits; a scan size of 0 is the end of the machine."""

    ROOT = "/sys/kernel/debug/sched/numa_balancing"

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if not path.startswith(f"{self.ROOT}/"):
            return None
        if not text.strip().isdecimal():
            return errno.EINVAL
        kernel.files[path] = f"{int(text) % (1 << 32)}\n"
        least, most = (int(kernel.files[f"{self.ROOT}/scan_period_{word}_ms"]) for word in ("min", "max"))
        assert int(kernel.files[f"{self.ROOT}/scan_size_mb"]), "divide error: the machine is gone"
        assert 0 < least <= most, "nothing sensible comes of a shortest period above the longest"
        return 0


class WatchdogMask(Behaviour):
    """kernel.watchdog_cpumask takes any list and keeps what the machine has, without a word."""

    PATH = "/proc/sys/kernel/watchdog_cpumask"

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if path != self.PATH:
            return None
        try:
            asked = CpuSet.parse(text)
        except ValueError:
            return errno.EINVAL
        possible = CpuSet.parse(kernel.read("/sys/devices/system/cpu/possible").text or "0-63")
        kernel.files[path] = f"{asked & possible}\n"
        return 0


@dataclass(frozen=True)
class Refuses(Behaviour):
    """One file answers every write with one errno. Put it before the usual behaviours."""

    path: str
    errno: int

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        return self.errno if path == self.path else None


@dataclass(frozen=True)
class Clamps(Behaviour):
    """One file takes every number and keeps at most `most`."""

    path: str
    most: int

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if path != self.path:
            return None
        kernel.files[path] = f"{min(int(text), self.most)}\n"
        return 0


@dataclass(frozen=True)
class Unreadable(Behaviour):
    """One file answers every read and write with one errno: debugfs under lockdown says EPERM."""

    path: str
    errno: int

    @override
    def read(self, kernel: FakeKernel, path: str):
        from numatune.host.protocol import Read  # noqa: PLC0415

        return Read(None, self.errno) if path == self.path else None

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        return self.errno if path == self.path else None


def _decimal(word: str) -> str:
    octal = word.startswith("0") and word != "0" and word[1] not in "xX"
    return str(int(word, 8) if octal else int(word, 0))
