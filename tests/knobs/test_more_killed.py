"""A kill at any write of the smaller knobs, and of the rollback after it: what is moved besides comes back too."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fakes.kernel import FakeKernel
from fakes.kills import different, on_host
from fakes.road import Road
from fakes.trees import host_tree

from numatune.engine.diff import ALL_OF_DEBUGFS

CPUFREQ = "/sys/devices/system/cpu/cpufreq/policy0"
LEAVE: dict[str, Any] = {"allow_disruption": True, "allow_unsafe": frozenset({ALL_OF_DEBUGFS})}
PROFILES = {
    "weights beside auto": (
        {"nodes": 2, "memory_only": [2], "kernel": "7.3.4", "bandwidths": {0: 200000, 1: 200000, 2: 50000}},
        {},
        "weighted_interleave: {auto: false, weights: {0: 4, 2: 1}}",
    ),
    "auto over weights": (
        {"nodes": 2, "kernel": "6.18.15", "bandwidths": {0: 200000, 1: 50000}},
        {
            "/sys/kernel/mm/mempolicy/weighted_interleave/__auto_type": "false\n",
            "/sys/kernel/mm/mempolicy/weighted_interleave/node1": "7\n",
        },
        "weighted_interleave: {auto: true}",
    ),
    "a governor and its preference": (
        {"nodes": 1, "cpus_per_node": 1, "cpufreq": "intel_pstate"},
        {f"{CPUFREQ}/scaling_governor": "performance\n", f"{CPUFREQ}/energy_performance_preference": "performance\n"},
        "cpufreq: {governor: powersave, epp: power, min_khz: 900000, max_khz: 1000000}",
    ),
    "a mask beside an isolated partition": (
        {"nodes": 2, "systemd": False},
        {},
        "workqueues: {cpumask: '0-1'}\ncpusets: {rt: {cpus: 6-7, mems: 1, partition: isolated}}",
    ),
    "a mount of its own": ({"nodes": 2}, {}, "shm: {/mnt/kv: {policy: interleave, size: 8G, huge: advise}}"),
    "another policy": (
        {"nodes": 2},
        {"/proc/mounts": "tmpfs /dev/shm tmpfs rw,size=8388608k,mpol=bind:0 0 0\n"},
        "shm: {/dev/shm: {policy: interleave, size: 4G}}",
    ),
    "a module and its parameter": (
        {"nodes": 1},
        {},
        "modules: {nvidia_peermem: loaded, nvidia_peermem.persistent_api_support: 0, nvme_core.io_timeout: 9}",
    ),
    "a module that goes": (
        {"nodes": 1},
        {
            "/proc/modules": "tcp_bbr 16384 0 - Live 0x0000000000000000\n",
            "/sys/module/tcp_bbr/initstate": "live\n",
            "/sys/module/tcp_bbr/refcnt": "0\n",
        },
        "modules: {tcp_bbr: absent}",
    ),
    "queues": (
        {"nodes": 2, "nics": [{"rx": 2, "tx": 2}]},
        {},
        "net_queues: {rps: local, rules: [{match: {class: nic}, xps: local, spread: cpu}]}",
    ),
    "tiers": ({"nodes": 2, "memory_only": [2]}, {}, "tiering: {demotion: true, numa_balancing: 2}\nksm: {run: 1}"),
    "merged pages are taken apart": (
        {"nodes": 2},
        {"/sys/kernel/mm/ksm/run": "1\n"},
        "ksm: {run: 2, merge_across_nodes: 0, max_page_sharing: 64}",
    ),
    "periods of balancing": (
        {"nodes": 2, "debugfs": True},
        {},
        "sched_debug: {numa_balancing: {scan_period_min_ms: 120000, scan_period_max_ms: 600000, scan_size_mb: 64}}",
    ),
    "idle states": (
        {"nodes": 1, "cpus_per_node": 2, "idle_states": ["POLL", "C1", "C6"]},
        {},
        "cpufreq: {cpuidle: {disable: [C6], resume_latency_us: 20}}",
    ),
    "queues of kernel work": ({"nodes": 2}, {}, "workqueues: {cpumask: '0-1', queues: {writeback: 0}}"),
}


@pytest.mark.parametrize("name", PROFILES)
def test_a_kill_at_any_write_is_taken_back(name: str, tmp_path: Path):
    shape, tree, text = PROFILES[name]
    whole = FakeKernel(host_tree(**shape) | tree)
    before = whole.state()
    for step in count():
        kernel = whole.copy()
        road = Road(kernel, tmp_path)
        changes = road.plan(text, **LEAVE)
        with on_host(step, kernel) as one:
            road.apply(changes)
        road.rollback()
        assert (step, different(kernel.state(), before)) == (step, {})
        if not one.died:
            assert step > 1, "nothing was written"
            return


@pytest.mark.parametrize("name", PROFILES)
def test_a_rollback_that_is_killed_is_finished_by_the_next(name: str, tmp_path: Path):
    shape, tree, text = PROFILES[name]
    whole = FakeKernel(host_tree(**shape) | tree)
    before = whole.state()
    for step in count():
        kernel = whole.copy()
        road = Road(kernel, tmp_path)
        road.apply(road.plan(text, **LEAVE))
        with on_host(step, kernel) as one:
            road.rollback()
        if one.died:
            road.rollback()
        assert (step, different(kernel.state(), before)) == (step, {})
        if not one.died:
            assert step > 1, "nothing was written"
            return
