"""The shipped profiles on captured real hosts: planned without an error, by the published schema, no node guessed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fakes.commands import typed
from fakes.trees import host_tree

from numatune import api
from numatune.cpus import CpuSet
from numatune.host.captured import open_tree
from numatune.host.memory import MemoryTree
from numatune.host.uncaptured import lacks
from numatune.views import plan_json

FOLDER = Path(os.environ.get("NUMATUNE_CAPTURES") or Path(__file__).parents[3] / "shared/captures")
NAMES = sorted(path.name.removesuffix(".oracle.json") for path in FOLDER.glob("*.oracle.json"))
SHIPPED = sorted(path.stem for path in (Path(__file__).parents[2] / "profiles").glob("*.yaml"))
SCHEMA = jsonschema.Draft202012Validator(json.loads(plan_json.schema()))

captures = pytest.mark.skipif(
    not NAMES, reason=f"no captured hosts in {FOLDER} (NUMATUNE_CAPTURES names another folder)"
)


def planned(profile: str) -> Any:
    done = typed("--root", "a captured host", "plan", profile, "--json")
    assert (done.code in {0, 2}, done.err) == (True, "")
    assert (done.code == 2) == bool(done.json["summary"]["differences"])
    return done.json


@pytest.mark.captures
@captures
@pytest.mark.parametrize("name", NAMES or [pytest.param("none", id="none")])
def test_shipped_profiles_are_planned_and_no_node_is_guessed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path))
    host = open_tree(str(FOLDER / f"{name}.tar.xz"))
    monkeypatch.setattr(api, "open_reader", lambda *_, **__: host)
    topology = typed("--root", "a captured host", "topology", "--json").json
    for profile in SHIPPED:
        plan = planned(profile)
        assert [error.message for error in SCHEMA.iter_errors(plan)] == []
        if profile != "kernel-defaults":  # gives interrupts to all CPUs
            assert list(guessed(plan, topology)) == []
        assert [row["id"] for row in plan["settings"] if row["action"] == "none" and row["status"] == "drifted"] == []
        for row in plan["settings"]:
            told = row["reason"] or row["status"] == "ok" or row["action"] != "none"
            assert told, f"{row['id']} is {row['status']} for no reason"


def guessed(plan: Any, topology: Any) -> Iterator[str]:
    """Interrupts that would go to a node which is not known to be their device's. On one node there is no other."""
    cpus = {node["id"]: CpuSet.parse(node["cpus"]) for node in topology["nodes"]}
    with_cpus = {node for node, held in cpus.items() if held}
    nodes = {device["address"]: device["resolved_node"] for device in topology["devices"]}
    for row in plan["settings"]:
        device, _, index = row["id"].removeprefix("irq:").rpartition("/")
        if row["section"] != "irq" or device not in nodes or not index.isdecimal() or len(with_cpus) < 2:
            continue
        node = nodes[device]
        if node is None or (node in with_cpus and not CpuSet.parse(row["wanted"]) <= cpus[node]):
            yield f"{row['id']} of node {node} to {row['wanted']}"


@pytest.mark.parametrize(
    ("held", "path", "lacking"),
    [
        ("/sys/devices/system/cpu/online", "/proc/sys/vm/swappiness", True),
        ("/proc/sys/vm/overcommit_memory", "/proc/sys/vm/swappiness", False),
        ("/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/numa_balancing", True),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled", True),
        ("/sys/kernel/mm/ksm/run", "/sys/kernel/mm/transparent_hugepage/enabled", False),
        ("/sys/bus/pci/devices/0000:01:00.0/class", "/sys/bus/pci/devices/0000:01:00.0/msi_irqs", True),
        ("/sys/bus/pci/devices/0000:01:00.0/msi_irqs/30", "/sys/bus/pci/devices/0000:01:00.0/msi_irqs", False),
        ("/proc/interrupts", "/proc/irq/30/smp_affinity_list", True),
        ("/sys/devices/system/cpu/online", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", True),
        ("/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", False),
        ("/sys/devices/system/cpu/cpu0/online", "/sys/devices/system/cpu/cpu0/cpuidle/state0/name", True),
        ("/sys/devices/system/cpu/cpuidle/current_driver", "/sys/devices/system/cpu/cpu0/cpuidle/state0/name", False),
        ("/sys/devices/system/cpu/cpu1/power/control", "/sys/devices/system/cpu/cpu0/power/pm_qos_x", True),
        ("/sys/devices/system/cpu/cpu1/power/control", "/sys/devices/system/cpu/cpu1/power/pm_qos_x", False),
        ("/proc/version", "/proc/cmdline", True),
        ("/proc/version", "/etc/numatune.conf", False),
    ],
)
def test_what_nobody_captured_is_not_what_a_kernel_lacks(held: str, path: str, lacking: bool):  # noqa: FBT001  # a column
    assert lacks(path, MemoryTree("captured", {held: "0"})) is lacking


@pytest.mark.parametrize(
    ("held", "frequencies", "states"),
    [
        ({}, "not in this captured tree", "not in this captured tree"),
        ({"cpufreq/boost": "0"}, "no cpufreq driver is loaded", "not in this captured tree"),
        ({"cpuidle/current_driver": "none"}, "not in this captured tree", "this host has no idle states"),
    ],
    ids=["neither", "frequencies", "idle states"],
)
def test_a_driver_is_missed_only_where_the_tree_would_show_it(
    held: dict[str, str], frequencies: str, states: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    profile = tmp_path / "mine.yaml"
    profile.write_text("name: mine\ncpufreq: {governor: performance, cpuidle: {disable: [C6]}}\n", encoding="utf-8")
    files = {f"/sys/devices/system/cpu/{name}": text for name, text in held.items()}
    host = MemoryTree("captured", {**host_tree(), **files})
    monkeypatch.setattr(api, "open_reader", lambda *_, **__: host)
    rows = {row["id"]: (row["status"], row["reason"]) for row in planned(str(profile))["settings"]}
    assert rows == {
        "cpufreq:governor": ("unsupported", frequencies),
        "cpufreq:cpuidle/C6": ("unsupported", states),
    }
