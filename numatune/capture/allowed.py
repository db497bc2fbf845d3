"""What a capture takes: paths that discover and the knobs read, and nothing that tells who owns or uses the host.

Globs as a POSIX shell has them, where `*` stays within one part and a slash at the end means a folder; ``{a,b}`` is
spelled out here. Files whose content is
only taken in part are in capture/reduce.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_PCI = "/sys/bus/pci/devices"
_THP = "/sys/kernel/mm/transparent_hugepage"
_UNITS = "{/etc,/run,/usr/local/lib,/usr/lib,/lib}/systemd/system"
_SYSCTL_D = "{/etc,/run,/usr/local/lib,/usr/lib,/lib}/sysctl.d"

_MACHINE = (
    "/proc/{cmdline,cpuinfo,meminfo,sysinfo,mounts}",
    "/proc/{1,self}/mounts",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/boot_id",
    "/proc/device-tree/ibm,partition-name",
    "/proc/device-tree/hypervisor/compatible",
    "/sys/class/dmi/id",
    "/sys/class/dmi/id/{sys_vendor,product_name,board_vendor,bios_vendor}",
    "/sys/devices/system/clocksource/clocksource0/{available,current}_clocksource",
    "/sys/hypervisor/type",
    "/sys/kernel/mm",
    "{/etc,/usr/lib}/os-release",
    "/{proc,lib,run,etc}",
    "/run/systemd/system",
)

_CPUS = (
    _CPU,
    f"{_CPU}/{{online,offline,present,possible,isolated,nohz_full,kernel_max,modalias}}",
    f"{_CPU}/smt/{{active,control}}",
    "/sys/devices/virtual/workqueue/{cpumask,*/cpumask}",
    f"{_CPU}/cpufreq/policy[0-9]*/scaling_{{governor,available_governors,driver,min_freq,max_freq}}",
    f"{_CPU}/cpufreq/policy[0-9]*/{{related_cpus,affected_cpus,cpuinfo_min_freq,cpuinfo_max_freq}}",
    f"{_CPU}/cpufreq/policy[0-9]*/energy_performance_{{preference,available_preferences}}",
    f"{_CPU}/cpu[0-9]*/cpuidle/state[0-9]*/{{name,disable}}",
    f"{_CPU}/cpu[0-9]*/power/pm_qos_resume_latency_us",
    f"{_CPU}/cpu[0-9]*",
    f"{_CPU}/cpu[0-9]*/online",
    f"{_CPU}/cpu[0-9]*/topology",
    f"{_CPU}/cpu[0-9]*/topology/{{thread_siblings,core_cpus,core_siblings,package_cpus}}{{,_list}}",
    f"{_CPU}/cpu[0-9]*/topology/physical_package_id",
    f"{_CPU}/cpu[0-9]*/cache/index[0-9]*/{{level,shared_cpu_list,shared_cpu_map}}",
)

_NODES = (
    _NODE,
    f"{_NODE}/{{online,possible,has_cpu,has_memory,has_normal_memory}}",
    f"{_NODE}/node[0-9]*",
    f"{_NODE}/node[0-9]*/{{cpulist,cpumap,distance,meminfo}}",
    f"{_NODE}/node[0-9]*/cpu[0-9]*",
    f"{_NODE}/node[0-9]*/hugepages/hugepages-*/{{nr,free,surplus}}_hugepages",
    f"{_NODE}/node[0-9]*/access[0-9]*/initiators/*",
    "/sys/devices/virtual/memory_tiering/memory_tier[0-9]*/nodelist",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/kernel/mm/mempolicy/weighted_interleave/*",
    "/sys/kernel/mm/hugepages/hugepages-*/{nr_hugepages,nr_overcommit_hugepages,free_hugepages}",
    "/sys/kernel/mm/hugepages/hugepages-*/{surplus_hugepages,resv_hugepages}",
    "/sys/kernel/mm/ksm/*",
    "/sys/kernel/debug/sched/numa_balancing/*",
    _THP,
    f"{_THP}/*",
    f"{_THP}/khugepaged/*",
    f"{_THP}/hugepages-*/*",
)

_DEVICES = (
    f"{_PCI}/*",
    f"{_PCI}/*/{{class,vendor,device,numa_node,local_cpulist,local_cpus,irq,driver,msi_irqs}}",
    f"{_PCI}/*/{{current,max}}_link_{{width,speed}}",
    f"{_PCI}/*/msi_irqs/*",
    "/sys/class/{net,infiniband,nvme,accel}/*",
    "/sys/class/drm/{card,renderD}*",
    "/sys/class/{net,infiniband,nvme,accel}/*/device",
    "/sys/class/drm/{card,renderD}*/device",
    "/sys/class/net/*/queues/{rx-*,tx-*}",
    "/sys/class/net/*/queues/{rx-*/rps_cpus,tx-*/xps_cpus}",
    "/proc/interrupts",
    "/proc/irq",
    "/proc/irq/*",
    "/proc/irq/*/{smp_affinity,smp_affinity_list,effective_affinity,effective_affinity_list,affinity_hint,node}",
    "/sys/kernel/irq",
    "/sys/kernel/irq/*/{hwirq,chip_name,actions,type}",
)

_GROUPS = tuple(
    f"/sys/fs/cgroup{'/*' * depth}{file}"
    for depth in range(6)
    for file in (
        "/",
        "/cgroup.{controllers,subtree_control,type,events,procs}",
        "/cpuset.{cpus,mems}{,.effective}",
        "/cpuset.cpus.{partition,exclusive,exclusive.effective,isolated}",
        "/cpuset.{effective_cpus,effective_mems,cpu_exclusive,mem_exclusive,memory_migrate}",
        "/memory.{max,high,min,low,current,limit_in_bytes,usage_in_bytes}",
    )
)
"""Slices nest, and a pod's container is five levels below the top."""

_VM = (
    "admin_reserve_kbytes compact_unevictable_allowed compaction_proactiveness defrag_mode dirty_background_bytes "
    "dirty_background_ratio dirty_bytes dirty_expire_centisecs dirty_ratio dirty_writeback_centisecs "
    "dirtytime_expire_seconds extfrag_threshold hugepages_treat_as_movable hugetlb_optimize_vmemmap hugetlb_shm_group "
    "laptop_mode legacy_va_layout lowmem_reserve_ratio max_map_count min_free_kbytes min_slab_ratio min_unmapped_ratio "
    "mmap_min_addr movable_gigantic_pages nr_hugepages nr_hugepages_mempolicy nr_overcommit_hugepages numa_stat "
    "numa_zonelist_order oom_dump_tasks oom_kill_allocating_task overcommit_kbytes overcommit_memory overcommit_ratio "
    "page-cluster page_lock_unfairness panic_on_oom percpu_pagelist_fraction percpu_pagelist_high_fraction "
    "stat_interval swappiness unprivileged_userfaultfd user_reserve_kbytes vfs_cache_pressure "
    "vfs_cache_pressure_denom watermark_boost_factor watermark_scale_factor zone_reclaim_mode"
)
_KERNEL = (
    "ftrace_enabled hung_task_timeout_secs hung_task_warnings io_uring_disabled msgmax msgmnb msgmni nmi_watchdog "
    "numa_balancing numa_balancing_promote_rate_limit_MBps numa_balancing_scan_delay_ms "
    "numa_balancing_scan_period_max_ms numa_balancing_scan_period_min_ms numa_balancing_scan_size_mb panic "
    "panic_on_oops perf_cpu_time_max_percent perf_event_max_sample_rate perf_event_paranoid pid_max printk "
    "randomize_va_space sched_autogroup_enabled sched_cfs_bandwidth_slice_us sched_child_runs_first "
    "sched_energy_aware sched_latency_ns sched_migration_cost_ns sched_min_granularity_ns sched_nr_migrate "
    "sched_rr_timeslice_ms sched_rt_period_us sched_rt_runtime_us sched_schedstats sched_tunable_scaling "
    "sched_wakeup_granularity_ns sem shmall shmmax shmmni soft_watchdog split_lock_mitigate threads-max "
    "timer_migration watchdog watchdog_cpumask watchdog_thresh"
)
_NET = (
    "core/busy_poll core/busy_read core/default_qdisc core/dev_weight core/flow_limit_table_len core/netdev_budget "
    "core/netdev_budget_usecs core/netdev_max_backlog core/optmem_max core/rmem_default core/rmem_max "
    "core/rps_default_mask core/rps_sock_flow_entries core/somaxconn core/wmem_default core/wmem_max "
    "ipv4/ip_local_port_range ipv4/tcp_congestion_control ipv4/tcp_max_syn_backlog ipv4/tcp_mem ipv4/tcp_mtu_probing "
    "ipv4/tcp_rmem ipv4/tcp_sack ipv4/tcp_timestamps ipv4/tcp_window_scaling ipv4/tcp_wmem ipv4/udp_mem"
)
_SYSCTLS = (
    "/proc/sys/{vm,kernel,net}",
    *(f"/proc/sys/vm/{key}" for key in _VM.split()),
    *(f"/proc/sys/kernel/{key}" for key in _KERNEL.split()),
    *(f"/proc/sys/net/{key}" for key in _NET.split()),
)
"""Key by key: beside these there are host names, keys of hashes, and files whose reading does something."""

_SERVICES = (
    "/proc/[0-9]*/comm",
    _SYSCTL_D,
    f"{_SYSCTL_D}/*.conf",
    "/etc/sysctl.conf",
    f"{_UNITS}/irqbalance.service",
    f"{_UNITS}/irqbalance.service.d",
    f"{_UNITS}/irqbalance.service.d/*.conf",
    "/etc/{default,sysconfig}/irqbalance",
    "/sys/module",
    "/sys/module/*/{initstate,holders,version}",
    "/lib/modules/*/modules.builtin",
    "/etc/NIXOS",
    "/etc/init.d/{procps,sysctl}",
    "/etc/{tmpfiles.d,udev/rules.d,NetworkManager/dispatcher.d,networkd-dispatcher}",
    "/etc/{tmpfiles.d/zz-numatune.conf,udev/rules.d/99-zz-numatune.rules}",
    "/etc/{NetworkManager/dispatcher.d,networkd-dispatcher/*.d}/90-numatune",
    "/etc/systemd/system/numatune-{boot,irq,repair}.service",
    "/etc/systemd/system/numatune-repair.timer",
    "/etc/numatune",
    "/etc/numatune/{irqbalance.env,irqbalance-policy,launch}",
    "/etc/systemd/system",
)

_TUNERS = (
    "auto-cpufreq bpftune cpufrequtils cpupower google-set-multiqueue irqbalance ksm ksmtuned numad ondemand "
    "power-profiles-daemon sapconf saptune thermald tlp tuned tuned-ppd"
)
UNITS = (
    *(f"{name}.service" for name in _TUNERS.split()),
    "init.scope",
    "system.slice",
    "user.slice",
    "machine.slice",
    "inference.slice",
    "NetworkManager.service",
    "networkd-dispatcher.service",
    "numatune-boot.service",
    "numatune-repair.timer",
)
"""Units that are asked about, beside every slice that is loaded and those that the user names."""

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "UnitFileState",
    "TriggeredBy",
    "ControlGroup",
    "AllowedCPUs",
    "AllowedMemoryNodes",
    "MemoryMax",
)
"""All that engine/kinds ask of a unit."""


@cache
def globs() -> tuple[str, ...]:
    """Every glob, braces spelled out, each once."""
    table = (*_MACHINE, *_CPUS, *_NODES, *_DEVICES, *_GROUPS, *_SYSCTLS, *_SERVICES)
    return tuple(dict.fromkeys(one for pattern in table for one in _spelled(pattern)))


def _spelled(pattern: str) -> Iterable[str]:
    """``a{b,c}`` as ``ab`` and ``ac``. ``ibm,partition-name`` has a comma, but no brace around it."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    head, tail = pattern[: found.start()], pattern[found.end() :]
    return [one for word in found[1].split(",") for one in _spelled(f"{head}{word}{tail}")]
