"""The core on four real nodes: what a machine of one node cannot show."""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

import pytest

from lab.machine import Machine
from lab.ssh import Answer

pytestmark = pytest.mark.lab

STATE = "python3 /opt/numatune/guest/state.py"
PLACED = """\
name: placed
hugepages: {2M: {by_node: {1: 4, 3: 9}}}
irq:
  rules:
    - {match: {class: nic, driver: vmxnet3}, cpus: local, spread: core}
    - {match: {class: nvme}, cpus: local, optional: true}
cpusets:
  inference.slice: {cpus: "2-3", mems: "2"}
services: {irqbalance: stopped}
"""
POOLS = "cat /sys/devices/system/node/node{0,1,2,3}/hugepages/hugepages-2048kB/nr_hugepages"
NIC = "0000:41:00.0"
# device, vector -> the mask asked for; by the kernel's own files, not by numatune.
MASKS = f"""
for number in $(ls /sys/bus/pci/devices/{NIC}/msi_irqs); do cat /proc/irq/$number/smp_affinity_list; done
"""
ALLOWED = "grep _allowed_list /proc/$(systemctl show --value --property=MainPID task)/status"


def moved(before: Answer, after: Answer) -> list[str]:
    """The values that differ, as they were (-) and as they are (+)."""
    lines = difflib.unified_diff(before.out.splitlines(), after.out.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def changed(report: str) -> set[str]:
    return {row["id"] for row in json.loads(report)["settings"] if row["changed"]}


def differences(report: str) -> int:
    return int(json.loads(report)["summary"]["differences"])


def test_topology_is_what_numactl_says(nps2: Machine) -> None:
    told = nps2.batch({"ours": "numatune topology --json", "theirs": "numactl --hardware"})
    ours: dict[str, Any] = json.loads(told["ours"].out)
    theirs = told["theirs"].out
    nodes = {str(node["id"]): node for node in ours["nodes"]}
    assert {name: node["cpus"] for name, node in nodes.items()} == dict(re.findall(r"node (\d+) cpus: (\d+)", theirs))
    sizes = {name: str(node["memory_bytes"] >> 20) for name, node in nodes.items()}
    assert sizes == dict(re.findall(r"node (\d+) size: (\d+) MB", theirs))
    rows = dict(re.findall(r"^ +(\d+): +(.*)$", theirs, re.MULTILINE))
    assert {name: list(node["distances"].values()) for name, node in nodes.items()} == {
        name: [int(distance) for distance in row.split()] for name, row in rows.items()
    }
    assert len(nodes) == len(rows) == 4
    assert sorted(ours["cpus"]["packages"].values()) == ["0-1", "2-3"]

    placed = [(row["kind"], row["node"]) for row in ours["devices"] if row["kind"] != "other"]
    assert sorted(placed, key=str) == [
        ("accelerator", 2),
        ("accelerator", 3),
        ("nic", 1),
        ("nic", None),  # on the root bus, whose devices have node -1
        ("nvme", 0),
    ]


def test_llm_inference_is_applied_once_verified_and_taken_back(nps2: Machine) -> None:
    """irqbalance runs before and after, and moves interrupts as it likes: those are another test's."""
    state = f"{STATE} memory groups files"
    told = nps2.batch(
        {
            "before": state,
            "apply": "numatune apply llm-inference --yes --json",
            "applied": state,
            "again": "numatune apply llm-inference --yes --json",
            "verify": "numatune verify --json",
            "drift": "numatune drift --json",
            "rollback": "numatune rollback --all --yes --json",
            "after": state,
        }
    )
    assert {name: (answer.code, answer.err) for name, answer in told.items()} == dict.fromkeys(told, (0, ""))
    assert {
        "-/proc/sys/kernel/numa_balancing = 1",
        "+/proc/sys/kernel/numa_balancing = 0",
        "+irqbalance.service/ActiveState = inactive",
    } <= set(moved(told["before"], told["applied"]))
    assert {"sysctl:kernel.numa_balancing", "thp:enabled", "service:irqbalance/active"} <= changed(told["apply"].out)
    assert changed(told["again"].out) == set()
    assert json.loads(told["again"].out)["run"] is None
    assert [differences(told[name].out) for name in ("apply", "again", "verify", "drift")] == [0, 0, 0, 0]
    assert moved(told["before"], told["after"]) == []


def test_interrupts_pages_and_a_running_task_are_where_the_profile_says(nps2: Machine) -> None:
    nps2.ssh.put({"/root/placed.yaml": PLACED})
    told = nps2.batch(
        {
            "alone": "systemctl stop irqbalance",  # so that only numatune moves interrupts
            "scattered": f"for number in $(ls /sys/bus/pci/devices/{NIC}/msi_irqs); do "
            "echo 0-3 > /proc/irq/$number/smp_affinity_list; done",
            "before": STATE,
            "apply": "numatune apply /root/placed.yaml --yes --json",
            "masks": MASKS,
            "pools": f"bash -c '{POOLS}'",
            "start": "systemd-run --quiet --unit=task --slice=inference.slice sleep 1000; sleep 1",
            "task": ALLOWED,
            "slice": "systemctl show inference.slice --property=EffectiveCPUs,EffectiveMemoryNodes",
            "verify": "numatune verify --json",
            "plan": "numatune plan /root/placed.yaml --json",
            "rollback": "numatune rollback --all --yes --json",
            "freed": ALLOWED,
            "stop": "systemctl stop task inference.slice",
            "after": STATE,
        }
    )
    assert {name: (answer.code, answer.err) for name, answer in told.items()} == dict.fromkeys(told, (0, ""))
    assert [differences(told[name].out) for name in ("apply", "verify", "plan")] == [0, 0, 0]
    assert json.loads(told["plan"].out)["summary"]["changes"] == 0
    assert set(told["masks"].out.split()) == {"1"}
    assert told["pools"].out.split() == ["0", "4", "0", "9"]
    assert told["task"].out.split() == ["Cpus_allowed_list:", "2-3", "Mems_allowed_list:", "2"]
    assert told["freed"].out.split() == ["Cpus_allowed_list:", "0-3", "Mems_allowed_list:", "0-3"]
    assert told["slice"].out.splitlines() == ["EffectiveCPUs=2-3", "EffectiveMemoryNodes=2"]
    assert moved(told["before"], told["after"]) == []
