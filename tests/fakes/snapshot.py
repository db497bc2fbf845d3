"""What this machine's kernel holds that a profile can touch: read before, compared after, put back."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

THP = Path("/sys/kernel/mm/transparent_hugepage")
SYSCTLS = Path("/proc/sys")
GROUPS = Path("/sys/fs/cgroup/cpuset")
LAUNCH = Path("/etc/numatune/launch")
"""The one file outside the kernel that shipped profiles write."""

_RESTLESS = re.compile(
    r"/proc/sys/(?:kernel/random/|kernel/ns_last_pid|kernel/pty/nr|kernel/hung_task_detect_count|kernel/perf_|fs/(?:dentry-state|file-nr|inode|aio-nr)"
    r"|fs/binfmt_misc|fs/quota|net/netfilter/|vm/stat_refresh|kernel/core_uses|debug/)"
)
"""What moves by itself, or whose reading does something."""
_INTERFACES = re.compile(r"/proc/sys/net/ipv[46]/(?:conf|neigh)/")
_COUNTERS = {"stats", "pages_collapsed", "full_scans"}
_MORE = (
    "kernel/mm/ksm/[mru]*_[aprz]*",  # merge_across_nodes, max_page_sharing, use_zero_pages
    "kernel/mm/ksm/run",
    "kernel/mm/ksm/sleep_millisecs",
    "kernel/mm/numa/demotion_enabled",
    "kernel/mm/mempolicy/weighted_interleave/*",
    "devices/virtual/workqueue/cpumask",
    "devices/virtual/workqueue/*/cpumask",
    "devices/system/cpu/cpu*/cpuidle/state*/disable",
    "devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "devices/system/cpu/cpufreq/policy*/scaling_governor",
    "bus/pci/devices/*/**/net/*/queues/*/?ps_cpus",
)
"""Globs below /sys of what the smaller knobs set; weights are looked at alone, because no test here may set them."""
_GROUP_FILES = re.compile(r"cpuset\.(?!effective_|memory_pressure)")

Snapshot = dict[str, str]


def taken() -> Snapshot:
    """Path -> text of all sysctls, THP, hugepage pools, masks of interrupts and v1 cpusets; a folder ends in ``/``."""
    return {str(path): text for path in _paths() if (text := _text(path)) is not None} | {
        f"{folder}/": "" for folder in _folders(GROUPS)
    }


def differences(before: Mapping[str, str], after: Mapping[str, str], names: Iterable[str] = ()) -> Snapshot:
    """Path -> "before -> after" of what is not the same.

    Groups that no test here has made (`names`) do not count, nor do sysctls of a network interface that came or went.
    """
    own = tuple(f"{GROUPS}/{name}" for name in names)
    changed = {
        path
        for path in {*before, *after}
        if before.get(path) != after.get(path) and ((path in before and path in after) or not _INTERFACES.match(path))
    }
    return {
        path: f"{before.get(path, '<none>').strip()} -> {after.get(path, '<none>').strip()}"
        for path in sorted(changed)
        if not path.startswith(f"{GROUPS}/") or path.startswith(own)
    }


def put_back(before: Mapping[str, str]) -> None:
    """Write every text that is not as it was, THP first; twice, because one file moves another."""
    if str(LAUNCH) not in before:
        LAUNCH.unlink(missing_ok=True)
    for _ in range(2):
        now = taken()
        moved = [path for path in before if path in now and before[path] != now[path]]
        for path in sorted(moved, key=lambda path: not path.startswith(str(THP))):
            with contextlib.suppress(OSError):
                Path(path).write_text(_word(before[path]))


def _paths() -> Iterator[Path]:
    for folder, _, names in os.walk(SYSCTLS):
        yield from (path for name in names if not _RESTLESS.match(str(path := Path(folder, name))))
    for folder, _, names in os.walk(THP):
        if Path(folder).name not in _COUNTERS:
            yield from (Path(folder, name) for name in names if name not in _COUNTERS)
    yield from Path("/sys/kernel/mm/hugepages").glob("*/nr_*hugepages")
    yield from Path("/sys/devices/system/node").glob("node*/hugepages/*/nr_hugepages")
    yield LAUNCH
    yield Path("/proc/irq/default_smp_affinity")
    yield from Path("/proc/irq").glob("*/smp_affinity_list")
    for glob in _MORE:
        yield from Path("/sys").glob(glob)
    for group in _folders(GROUPS):
        yield from (path for path in group.glob("cpuset.*") if _GROUP_FILES.match(path.name))


def _folders(root: Path) -> list[Path]:
    return [Path(folder) for folder, _, _ in os.walk(root)] if root.is_dir() else []


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def _word(text: str) -> str:
    """What is written to make a file read `text`: the chosen one of ``always [madvise] never``."""
    chosen = re.search(r"\[(.+?)\]", text)
    return chosen[1] if chosen else text
