"""What a kernel brings whatever the hardware: sysctls, transparent hugepages, control groups."""

from __future__ import annotations

from collections.abc import Mapping

from numatune.cpus import CpuSet

BOOT_ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

SYSCTLS = {
    "kernel.nmi_watchdog": "1",
    "kernel.numa_balancing": "1",
    "kernel.numa_balancing_promote_rate_limit_MBps": "65536",
    "kernel.pid_max": "4194304",
    "kernel.sched_autogroup_enabled": "1",
    "kernel.sched_rt_runtime_us": "950000",
    "kernel.sched_schedstats": "0",
    "kernel.timer_migration": "1",
    "kernel.watchdog": "1",
    "kernel.watchdog_thresh": "10",
    "net.core.busy_poll": "0",
    "net.core.busy_read": "0",
    "net.core.rps_sock_flow_entries": "0",
    "vm.compact_unevictable_allowed": "1",
    "vm.compaction_proactiveness": "20",
    "vm.dirty_background_bytes": "0",
    "vm.dirty_background_ratio": "10",
    "vm.dirty_bytes": "0",
    "vm.dirty_ratio": "20",
    "vm.lowmem_reserve_ratio": "256\t256\t32\t0\t0",
    "vm.max_map_count": "65530",
    "vm.min_free_kbytes": "67584",
    "vm.min_slab_ratio": "5",
    "vm.min_unmapped_ratio": "1",
    "vm.nr_overcommit_hugepages": "0",
    "vm.numa_stat": "1",
    "vm.numa_zonelist_order": "Node",
    "vm.overcommit_kbytes": "0",
    "vm.overcommit_memory": "0",
    "vm.overcommit_ratio": "50",
    "vm.percpu_pagelist_high_fraction": "0",
    "vm.stat_interval": "1",
    "vm.swappiness": "60",
    "vm.watermark_boost_factor": "15000",
    "vm.watermark_scale_factor": "10",
    "vm.zone_reclaim_mode": "0",
}
"""Defaults of a 6.12 kernel."""

_V2 = {
    "cgroup.controllers": "cpuset cpu io memory hugetlb pids",
    "cgroup.max.depth": "max",
    "cgroup.max.descendants": "max",
    "cgroup.stat": "nr_descendants 0",
}


def version(kernel: str) -> tuple[int, int]:
    """(6, 12) of 6.12.0."""
    major, minor = kernel.split(".")[:2]
    return int(major), int(minor)


def sysctls(kernel: str, changed: Mapping[str, str | None], *, numa: bool, hugepages: int) -> dict[str, str]:
    """/proc/sys with `changed` laid over the defaults; None takes a key away."""
    own = {
        "kernel.osrelease": kernel,
        "kernel.hostname": "generated",
        "kernel.random.boot_id": BOOT_ID,
        "vm.nr_hugepages": str(hugepages),
        "vm.nr_hugepages_mempolicy": str(hugepages),
    }
    held: dict[str, str | None] = {**SYSCTLS, **own}
    if not numa:
        held["kernel.numa_balancing"] = "0"
    held |= changed
    return {f"/proc/sys/{key.replace('.', '/')}": f"{text}\n" for key, text in held.items() if text is not None}


def thp(kernel: str) -> dict[str, str]:
    """/sys/kernel/mm/transparent_hugepage as that version has it."""
    base = "/sys/kernel/mm/transparent_hugepage"
    files = {
        "enabled": "always [madvise] never",
        "defrag": "always defer defer+madvise [madvise] never",
        "shmem_enabled": "always within_size advise [never] deny force",
        "use_zero_page": "1",
        "hpage_pmd_size": "2097152",
        "khugepaged/defrag": "1",
        "khugepaged/scan_sleep_millisecs": "10000",
        "khugepaged/alloc_sleep_millisecs": "60000",
        "khugepaged/pages_to_scan": "4096",
        "khugepaged/max_ptes_none": "511",
        "khugepaged/max_ptes_swap": "64",
        "khugepaged/max_ptes_shared": "256",
        "khugepaged/pages_collapsed": "0",
        "khugepaged/full_scans": "0",
    }
    if version(kernel) >= (6, 8):
        for size in (16, 32, 64, 128, 256, 512, 1024, 2048):
            default = "always [inherit] madvise never" if size == 2048 else "always inherit madvise [never]"
            files[f"hugepages-{size}kB/enabled"] = default
            if version(kernel) >= (6, 11):
                files[f"hugepages-{size}kB/shmem_enabled"] = "always inherit within_size advise [never]"
    if version(kernel) >= (6, 12):
        files["shrink_underused"] = "1"
    return {f"{base}/{name}": f"{text}\n" for name, text in files.items()}


def sched_debug(kernel: str) -> dict[str, str]:
    """What debugfs has of automatic NUMA balancing."""
    values = {"scan_delay_ms": 1000, "scan_period_min_ms": 1000, "scan_period_max_ms": 60000, "scan_size_mb": 256}
    if version(kernel) >= (6, 1):
        values["hot_threshold_ms"] = 1000
    base = "/sys/kernel/debug/sched/numa_balancing"
    return {f"{base}/{name}": f"{value}\n" for name, value in values.items()} if version(kernel) >= (5, 13) else {}


def cgroups(mode: str, cpus: CpuSet, mems: CpuSet, *, systemd: bool) -> dict[str, str]:
    """/sys/fs/cgroup and its mounts in /proc/mounts; under systemd with the slices that it makes."""
    base = "/sys/fs/cgroup"
    mounts = "proc /proc proc rw,nosuid 0 0\nsysfs /sys sysfs rw,nosuid 0 0\n"
    mounts += "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=8388608k 0 0\n"
    if mode == "none":
        return {"/proc/mounts": mounts}
    if mode == "v2":
        tree = {"/proc/mounts": f"{mounts}cgroup2 {base} cgroup2 rw,nosuid,nsdelegate 0 0\n"}
        return tree | _v2(base, cpus, mems, systemd=systemd)
    tree = _v1(base, cpus, mems)
    mounts += f"tmpfs {base} tmpfs ro,nosuid,mode=755 0 0\n"
    for controller in ("cpuset", "memory"):
        mounts += f"cgroup {base}/{controller} cgroup rw,nosuid,{controller} 0 0\n"
    if mode == "hybrid":
        mounts += f"cgroup2 {base}/unified cgroup2 rw,nosuid 0 0\n"
        tree |= {f"{base}/unified/{name}": f"{text}\n" for name, text in _V2.items()}
        tree |= {f"{base}/unified/cgroup.controllers": "hugetlb\n", f"{base}/unified/cgroup.procs": "1\n"}
    return {"/proc/mounts": mounts} | tree


def _v2(base: str, cpus: CpuSet, mems: CpuSet, *, systemd: bool) -> dict[str, str]:
    tree = {f"{base}/{name}": f"{text}\n" for name, text in _V2.items()}
    tree[f"{base}/cgroup.subtree_control"] = "cpu io memory pids\n" if systemd else "\n"
    tree[f"{base}/cgroup.procs"] = "2\n" if systemd else "1\n2\n"
    tree[f"{base}/cpuset.cpus.effective"] = f"{cpus}\n"
    tree[f"{base}/cpuset.mems.effective"] = f"{mems}\n"
    tree[f"{base}/cpuset.cpus.isolated"] = "\n"
    if systemd:
        for name, pids in (("init.scope", "1\n"), ("system.slice", ""), ("user.slice", "")):
            group = f"{base}/{name}"
            tree |= {f"{group}/cgroup.controllers": "cpu io memory pids\n", f"{group}/cgroup.procs": pids}
            tree |= {f"{group}/cgroup.subtree_control": "\n", f"{group}/cgroup.type": "domain\n"}
            tree[f"{group}/cgroup.events"] = f"populated {int(bool(pids))}\nfrozen 0\n"
            tree |= {f"{group}/memory.max": "max\n", f"{group}/memory.current": "0\n"}
    return tree


def _v1(base: str, cpus: CpuSet, mems: CpuSet) -> dict[str, str]:
    cpuset, memory = f"{base}/cpuset", f"{base}/memory"
    return {
        f"{cpuset}/cgroup.procs": "1\n2\n",
        f"{cpuset}/tasks": "1\n2\n",
        f"{cpuset}/cpuset.cpus": f"{cpus}\n",
        f"{cpuset}/cpuset.mems": f"{mems}\n",
        f"{cpuset}/cpuset.effective_cpus": f"{cpus}\n",
        f"{cpuset}/cpuset.effective_mems": f"{mems}\n",
        f"{cpuset}/cpuset.cpu_exclusive": "1\n",
        f"{cpuset}/cpuset.mem_exclusive": "1\n",
        f"{cpuset}/cpuset.memory_migrate": "0\n",
        f"{cpuset}/cpuset.sched_load_balance": "1\n",
        f"{memory}/cgroup.procs": "1\n2\n",
        f"{memory}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{memory}/memory.usage_in_bytes": "0\n",
    }
