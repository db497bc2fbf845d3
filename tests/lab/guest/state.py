"""Prints every value of this host that numatune may touch, one a line; what differs later was changed in between.

It runs inside a guest and shares no code with numatune.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

NOT_A_VALUE = {"stat_refresh", "drop_caches", "compact_memory", "full_scans", "pages_collapsed"}
GROUP_FILES = (
    *("cgroup.subtree_control", "cgroup.type", "memory.max"),
    *("cpuset.cpus", "cpuset.mems", "cpuset.cpus.effective", "cpuset.mems.effective", "cpuset.cpus.partition"),
)
KSM = ("run", "pages_to_scan", "sleep_millisecs", "merge_across_nodes", "use_zero_pages", "max_page_sharing")
UNITS = ("inference.slice", "system.slice", "irqbalance.service")
PROPERTIES = "ActiveState,UnitFileState,AllowedCPUs,AllowedMemoryNodes,EffectiveCPUs,EffectiveMemoryNodes,MemoryMax"
FOLDERS = (
    *("/etc/numatune", "/etc/default", "/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/udev/rules.d", "/etc/systemd/system"),
    *("/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/system"),
)

ADMINISTRATOR_S = ("/etc/numatune", "/etc/systemd/system")
"""Where a folder that is left counts too. In systemd's own (system.control) it leaves them itself."""


def text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip().replace("\n", "\\n")
    except OSError as error:
        return f"<{error.strerror}>"


def memory() -> Iterator[Path]:
    yield from Path("/proc/sys/vm").glob("*")
    yield from Path("/proc/sys/kernel").glob("numa_balancing*")
    yield from Path("/sys/kernel/debug/sched/numa_balancing").glob("*")
    yield from Path("/sys/kernel/mm/transparent_hugepage").rglob("*")
    for folder in ("numa", "mempolicy/weighted_interleave"):
        yield from Path("/sys/kernel/mm", folder).glob("*")
    yield from (Path("/sys/kernel/mm/ksm", name) for name in KSM)
    yield from Path("/sys/devices/virtual/workqueue").glob("**/cpumask")
    yield from Path("/sys/class/net").glob("*/queues/*/[rx]ps_cpus")
    yield from Path("/sys/devices/system/node").glob("node*/hugepages/*/nr_hugepages")


def interrupts() -> Iterator[tuple[str, str]]:
    """By device and vector, because their numbers may change. A vector nobody has taken has no mask."""
    yield "default", text(Path("/proc/irq/default_smp_affinity"))
    for path in sorted(Path("/sys/bus/pci/devices").glob("*/msi_irqs/*")):
        vector = int(text(Path("/sys/kernel/irq", path.name, "hwirq")) or "0") & 0x7FF
        yield f"{path.parts[-3]}/{vector}", text(Path("/proc/irq", path.name, "smp_affinity_list"))


def groups() -> Iterator[Path]:
    for folder in sorted(Path("/sys/fs/cgroup").rglob("")):
        if "user.slice" not in folder.parts:
            yield from (folder / name for name in GROUP_FILES if (folder / name).exists())


def units() -> Iterator[tuple[str, str]]:
    for unit in UNITS:
        shown = subprocess.run(
            ["/usr/bin/systemctl", "show", unit, f"--property={PROPERTIES}"], capture_output=True, text=True, check=True
        )
        for line in shown.stdout.splitlines():
            name, _, value = line.partition("=")
            yield f"{unit}/{name}", value


def mounts() -> Iterator[tuple[str, str]]:
    """By place: each boot mounts in an order of its own."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    for _, place, kind, options, *_ in sorted((line.split() for line in lines), key=itemgetter(1)):
        if kind == "tmpfs" and not place.startswith(("/run/user/", "/run/credentials/")):
            yield f"mount {place}", options
    yield "/mnt", " ".join(sorted(path.name for path in Path("/mnt").iterdir()))


def modules() -> Iterator[tuple[str, str]]:
    for line in sorted(Path("/proc/modules").read_text(encoding="ascii").splitlines()):
        yield f"module {line.split()[0]}", "there"
    yield "nvme_core.io_timeout", text(Path("/sys/module/nvme_core/parameters/io_timeout"))


def empty(path: Path) -> bool:
    """Whether this is a drop-in that takes a property back: systemd keeps it, saying nothing, until the next boot."""
    lines = path.read_text(encoding="utf-8").splitlines() if "system.control" in path.parts else ["kept"]
    return all(line.endswith(("=", "=infinity")) or line.startswith(("#", "[")) or not line for line in lines)


def files() -> Iterator[tuple[str, str]]:
    for folder in filter(os.path.isdir, FOLDERS):
        for path in sorted([Path(folder), *Path(folder).rglob("*")]):
            of_a_login = any(part.startswith(("session-", "user-", "user@")) for part in path.parts)
            if path.is_dir():
                yield from [(f"{path}/", "made")] if folder in ADMINISTRATOR_S else []
            elif not of_a_login and not empty(path):
                yield str(path), f"-> {path.readlink()}" if path.is_symlink() else text(path)


def state(sections: set[str]) -> Iterator[tuple[str, str]]:
    if "memory" in sections:
        for path in sorted(memory()):
            if path.is_file() and path.name not in NOT_A_VALUE and "stats" not in path.parts:
                yield str(path), text(path)
    if "interrupts" in sections:
        yield from ((f"interrupt {name}", value) for name, value in interrupts())
    if "groups" in sections:
        yield from ((str(path), text(path)) for path in groups())
        yield from units()
    if "files" in sections:
        yield from files()
    if "others" in sections:
        yield from mounts()
        yield from modules()


if __name__ == "__main__":
    for key, value in state(set(sys.argv[1:]) or {"memory", "interrupts", "groups", "files", "others"}):
        sys.stdout.write(f"{key} = {value}\n")
