"""The hosts that odd profiles meet, and from which odd trees are made: arguments of fakes.trees.host_tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

GIB: Final = 1 << 30

HOSTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"nodes": 2, "nics": 1, "accelerators": 1},
    {"nodes": 1, "cpus_per_node": 2, "memory_per_node": GIB, "cgroup": "v1", "systemd": False},
    {
        "nodes": [0, 3],
        "threads": 2,
        "memory_only": [7],
        "nics": 1,
        "nvmes": 1,
        "accelerators": [{"node": -1, "local_cpus": "0-1"}],
        "tiers": {4: "0,3", 22: "7"},
        "bandwidths": {0: 204800, 3: 204800, 7: 25600},
        "cpufreq": "intel_pstate",
        "idle_states": ["C1", "C6"],
        "debugfs": True,
        "kernel": "6.18.0",
    },
    {"nodes": 4, "cpu_only": [9], "offline": "1-2", "cgroup": "hybrid", "kernel": "5.10.0", "cpufreq": "acpi-cpufreq"},
    {
        "nodes": 2,
        "cgroup": "none",
        "with_thp": False,
        "systemd": False,
        "kernel": "6.1.0",
        "debugfs": True,
        "possible_cpus": 64,
    },
)
