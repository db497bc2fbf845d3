"""Masks of CPUs outside /proc/irq: those of workqueues and of the queues of network interfaces."""

from __future__ import annotations

import errno

from fakes.kernel import Behaviour, FakeKernel
from fakes.tree_kernel import version
from numatune.compat import override
from numatune.cpus import CpuSet

WORKQUEUES = "/sys/devices/virtual/workqueue"
_REQUESTED, _ISOLATED = f"{WORKQUEUES}/cpumask_requested", f"{WORKQUEUES}/cpumask_isolated"


def workqueues(kernel: str, online: CpuSet, width: int) -> dict[str, str]:
    """All unbound work on every CPU."""
    mask = f"{online.mask(width)}\n"
    tree = {f"{WORKQUEUES}/cpumask": mask}
    if version(kernel) >= (6, 8):
        tree |= {_REQUESTED: mask, _ISOLATED: f"{CpuSet().mask(width)}\n"}
    for queue in ("writeback", "blkcg_punt_bio"):
        tree |= {f"{WORKQUEUES}/{queue}/cpumask": mask, f"{WORKQUEUES}/{queue}/nice": "0\n"}
    return tree


def width(kernel: FakeKernel) -> int:
    """How many CPUs the kernel can have."""
    return CpuSet.parse(kernel.files["/sys/devices/system/cpu/possible"]).last + 1


def mask(kernel: FakeKernel, text: str) -> CpuSet | int:
    """bitmap_parse: hexadecimal in groups of 32 bits, no more of them than the kernel has CPUs for."""
    try:
        asked = CpuSet.parse_mask(text)
    except ValueError:
        return errno.EINVAL
    groups = text.strip().count(",") + 1
    return errno.EOVERFLOW if groups > (width(kernel) + 31) // 32 or (asked and asked.last >= width(kernel)) else asked


class Workqueues(Behaviour):
    """Any CPUs are taken, isolated ones too, but none at all is not."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if not (path.startswith(f"{WORKQUEUES}/") and path.endswith("/cpumask")):
            return None
        asked = mask(kernel, text)
        if isinstance(asked, int):
            return asked
        if not asked:
            return errno.EINVAL
        kernel.files[path] = f"{asked.mask(width(kernel))}\n"
        if path == f"{WORKQUEUES}/cpumask":
            kernel.files[_REQUESTED] = kernel.files[path]
        return 0


def exclude(kernel: FakeKernel, isolated: CpuSet) -> None:
    """An isolated partition comes or goes: what was asked for, without its CPUs, unless none were left."""
    if _REQUESTED not in kernel.files or kernel.files[_ISOLATED] == f"{isolated.mask(width(kernel))}\n":
        return
    asked = CpuSet.parse_mask(kernel.files[_REQUESTED])
    kernel.files[f"{WORKQUEUES}/cpumask"] = f"{(asked - isolated or asked).mask(width(kernel))}\n"
    kernel.files[_ISOLATED] = f"{isolated.mask(width(kernel))}\n"


def net_queues(path: str, receive: int, transmit: int, width: int) -> dict[str, str]:
    """Queues of the interface at `path`; one transmit queue alone has no XPS."""
    none = f"{CpuSet().mask(width)}\n"
    tree = {f"{path}/queues/rx-{number}/rps_cpus": none for number in range(receive)}
    tree |= {f"{path}/queues/rx-{number}/rps_flow_cnt": "0\n" for number in range(receive)}
    tree |= {f"{path}/queues/tx-{number}/tx_maxrate": "0\n" for number in range(transmit)}
    if transmit > 1:
        tree |= {f"{path}/queues/tx-{number}/xps_cpus": none for number in range(transmit)}
    return tree


class NetQueues(Behaviour):
    """RPS leaves CPUs that are isolated at boot out, and takes no mask of nothing else; XPS takes any."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        name = path.rpartition("/")[2]
        if "/queues/" not in path or name not in {"rps_cpus", "xps_cpus"}:
            return None
        asked = mask(kernel, text)
        if isinstance(asked, int):
            return asked
        quiet = CpuSet.parse(kernel.files["/sys/devices/system/cpu/isolated"])
        if name == "rps_cpus" and asked:
            asked -= quiet
            if not asked:
                return errno.EINVAL
        kernel.files[path] = f"{asked.mask(width(kernel))}\n"
        return 0
