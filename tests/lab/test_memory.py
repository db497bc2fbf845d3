"""Nodes that have memory and no CPUs: told from the others, no target unless asked, filled when asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.machine import Machine
from lab.opinions import nodes_by_numactl, nodes_by_numatune, parts_by_lstopo, parts_by_numatune
from lab.reports import PAGES, STATE, changed, failed, moved, rows, statuses, summary
from lab.ssh import Answer

pytestmark = pytest.mark.lab

MIB = 1 << 20
NODES = "/sys/devices/system/node"
TOPOLOGY = {
    "ours": "numatune topology --json",
    "numactl": "numactl --hardware",
    "lstopo": "lstopo --of xml",
    "access": f"cd {NODES}; grep -H . node*/access1/initiators/[rw]*",  # of CPUs, not of any initiator
    "tiers": "cd /sys/devices/virtual/memory_tiering; grep -H . memory_tier*/nodelist",
}
ACCESS = {
    "read_latency": "read_latency_ns",
    "write_latency": "write_latency_ns",
    "read_bandwidth": "read_bandwidth_mib_s",
    "write_bandwidth": "write_bandwidth_mib_s",
}
# Of the shipped profile, what is a number for each node is for nodes with CPUs.
COHERENT = """\
name: coherent
extends: llm-inference
vars: {hugepages_2m_per_node: 2, inference_cpus: 0-1, inference_mems: "0,2"}
sysctl: {vm.min_free_kbytes: "{{ memory.smallest_node // 16 // KiB }}"}
hugepages: {2M: {by_node: {2: 3, 4: 1}}}
shm: {/mnt/kv-cache: {policy: interleave, size: 32M}}
"""
SLOW = """\
name: slow
extends: llm-inference
sysctl: {kernel.numa_balancing: null}
tiering: {demotion: true, numa_balancing: 2, promote_rate_limit_MBps: 1000}
"""
# A group that may not have pages on the slow node, where they would go all the same.
STRICT = f"{SLOW}cpusets: {{inference.slice: {{mems: 0-1}}}}\n"


def check_topology(told: dict[str, Answer]) -> dict[str, Any]:
    """Nodes, distances, packages, cores, caches, devices, accesses and tiers as everybody else says; ours, in full."""
    topology: dict[str, Any] = json.loads(told["ours"].out)
    assert nodes_by_numatune(topology) == nodes_by_numactl(told["numactl"].out)
    theirs = parts_by_lstopo(told["lstopo"].out)
    assert parts_by_numatune(topology, theirs.devices) == theirs
    accesses = {
        f"node{node['id']}/access1/initiators/{name}:{access[ours]}"
        for node in topology["nodes"]
        for access in node["access"]
        if access["class"] == 1
        for name, ours in ACCESS.items()
    }
    assert accesses == set(told["access"].out.split())
    tiers: dict[str, list[str]] = {}
    for node in topology["nodes"]:
        tiers.setdefault(f"memory_tier{node['tier']}", []).append(str(node["id"]))
    kernel = dict(line.split("/nodelist:") for line in told["tiers"].out.split())
    assert {tier: members(ids) for tier, ids in kernel.items()} == tiers
    return topology


def members(text: str) -> list[str]:
    first, _, last = text.partition("-")
    return [str(number) for number in range(int(first), int(last or first) + 1)]


def unmet(told: Answer) -> dict[str, str]:
    return {name: status for name, status in statuses(told).items() if status not in ("ok", "not-applicable")}


def in_the_slice(command: str) -> str:
    return f"systemd-run --quiet --wait --pipe --slice=inference.slice {command} 2>&1"


def test_memory_of_accelerators_is_no_target_unless_asked(grace: Machine) -> None:
    grace.ssh.put({"/root/coherent.yaml": COHERENT})
    told = grace.batch(
        {
            **TOPOLOGY,
            "before": f"{STATE} memory groups files",
            "start": "systemctl start inference.slice",  # else what it may have is pending
            "apply": "numatune apply /root/coherent.yaml --yes --json",
            "pools": f"cat {NODES}/node*/hugepages/hugepages-2048kB/nr_hugepages",
            "sizes": f"grep -h MemTotal {NODES}/node[01]/meminfo",
            "reserve": "sysctl -n vm.min_free_kbytes",
            "cache": f"dd status=none if=/dev/zero of=/mnt/kv-cache/blocks bs=1M count=16; {PAGES} file "
            "/mnt/kv-cache/blocks; rm /mnt/kv-cache/blocks",
            "near": in_the_slice(f"numactl --membind=2 {PAGES} take 8"),
            "far": in_the_slice(f"numactl --membind=3 {PAGES} take 8"),
            "verify": "numatune verify --json",
            "rollback": "numatune rollback --all --yes --json",
            "stop": "systemctl stop inference.slice",
            "after": f"{STATE} memory groups files",
        }
    )
    assert failed(told, apply=2, far=1, verify=2) == {}
    ours = check_topology(told)
    kinds = {node["id"]: node["kind"] for node in ours["nodes"]}
    assert kinds == {0: "cpu+mem", 1: "cpu+mem", 2: "memory-only", 3: "memory-only"}
    assert [core["cpus"] for core in ours["cpus"]["cores"]] == ["0-1", "2-3"]

    for report in ("apply", "verify"):
        assert unmet(told[report]) == {"hugepages:node4/2M": "unsupported"}  # possible, not there
    assert told["pools"].out.split() == ["2", "2", "3", "0"]
    smallest = min(int(line.split()[3]) << 10 for line in told["sizes"].out.splitlines())
    assert int(told["reserve"].out) == (smallest // (128 * MIB) * 128 * MIB) // 16 // 1024
    assert json.loads(told["cache"].out) == dict.fromkeys("01", 8 * MIB // 4096)
    assert json.loads(told["near"].out) == {"2": 8 * MIB // 4096}
    assert "invalid" in told["far"].out
    assert moved(told["before"], told["after"]) == []


@pytest.mark.matrix
def test_slow_memory_takes_what_is_cold(tiered: Machine) -> None:
    tiered.ssh.put({"/root/slow.yaml": SLOW, "/root/strict.yaml": STRICT})
    told = tiered.batch(
        {
            **TOPOLOGY,
            "before": f"{STATE} memory groups files",
            "strict": "numatune plan /root/strict.yaml --json",
            "apply": "numatune apply /root/slow.yaml --yes --json",
            # More than is free on node 0, to which it is bound: the coldest pages of all go to node 2.
            "hog": f"numactl --membind=0 {PAGES} take $(($(sed -n 's/.*MemFree: *\\([0-9]*\\) kB/\\1/p' "
            f"{NODES}/node0/meminfo) / 1024 + 32))",
            "demoted": "grep -h ^pgdemote /proc/vmstat",
            "verify": "numatune verify --json",
            "rollback": "numatune rollback --all --yes --json",
            "after": f"{STATE} memory groups files",
        }
    )
    assert failed(told, strict=2) == {}
    ours = check_topology(told)
    assert [(node["id"], node["kind"]) for node in ours["nodes"]][2] == (2, "memory-only")

    held = rows(told["strict"])["tiering:demotion"]
    assert (held["status"], held["action"]) == ("drifted", "none")
    assert [unmet(told[report]) for report in ("apply", "verify")] == [{}, {}]
    assert {"tiering:demotion", "tiering:numa_balancing"} <= changed(told["apply"])
    assert summary(told["apply"])["differences"] == 0
    assert sum(int(line.split()[1]) for line in told["demoted"].out.splitlines()) > 0
    assert json.loads(told["hog"].out)["2"] > 0
    assert moved(told["before"], told["after"]) == []
