"""Real hosts' trees, captured by other projects, against what other projects' tools say of them.

They are third parties' data and live beside the project: in ../shared/captures, or where NUMATUNE_CAPTURES points to.
NAME.tar.xz is a tree, NAME.oracle.json what is known of it; its README tells where each came from.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.host.captured import open_tree
from numatune.views import topology_json
from numatune.views.topology_text import topology

FOLDER = Path(os.environ.get("NUMATUNE_CAPTURES") or Path(__file__).parents[3] / "shared/captures")
NAMES = sorted(path.name.removesuffix(".oracle.json") for path in FOLDER.glob("*.oracle.json"))
KINDS = {"cpu+mem", "cpu-only", "memory-only", "empty"}
MIB = 1 << 20

pytestmark = [
    pytest.mark.captures,
    pytest.mark.skipif(not NAMES, reason=f"no captured hosts in {FOLDER} (NUMATUNE_CAPTURES names another folder)"),
]


def nodes(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    if wanted.get("numa") is False:
        return [f"nodes where there are none: {found['nodes']}"] if found["nodes"] or found["numa"] else []
    held = {str(node["id"]): node for node in found["nodes"]}
    wrong = [f"nodes {sorted(held)}, not {sorted(wanted['nodes'])}"] if held.keys() != wanted["nodes"].keys() else []
    for name in held.keys() & wanted["nodes"].keys():
        node, want = held[name], wanted["nodes"][name]
        if "cpulist" in want and CpuSet.parse(node["cpus"]) != CpuSet.parse(want["cpulist"]):
            wrong.append(f"node {name}: CPUs {node['cpus']}, not {want['cpulist']}")
        if want.get("kind") in KINDS and node["kind"] != want["kind"]:
            wrong.append(f"node {name}: {node['kind']}, not {want['kind']}")
        if not memory_agrees(want, node["memory_bytes"]):
            wrong.append(f"node {name}: {node['memory_bytes']} bytes, not {want}")
    return wrong


def memory_agrees(want: dict[str, Any], held: int | None) -> bool:
    if want.get("memory_not_in_tree"):
        return held is None
    if "memory_bytes" in want:
        return bool(held == want["memory_bytes"])
    return "memory_mb" not in want or (held is not None and abs(held / MIB - want["memory_mb"]) <= 1)


def distances(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    told = wanted.get("distances") or {}
    held = {node["id"]: node["distances"] for node in found["nodes"]}
    return [
        f"distance {one} to {other}: {held.get(one, {}).get(str(other))}, not {distance}"
        for one, row in zip(told.get("nodes", ()), told.get("matrix", ()), strict=True)
        for other, distance in zip(told["nodes"], row, strict=True)
        if held.get(one, {}).get(str(other)) != distance
    ]


def cpus(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    told = {key: wanted[f"{key}_cpus"]["cpulist"] for key in ("online", "offline") if wanted.get(f"{key}_cpus")}
    return [
        f"{key} {found['cpus'][key]}, not {text}"
        for key, text in told.items()
        if CpuSet.parse(found["cpus"][key]) != CpuSet.parse(text)
    ]


def devices(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    held = {device["address"]: device for device in found["devices"]}
    named = {name: device for device in found["devices"] for name in device["names"]}
    wrong = []
    for address, want in wanted.get("pci", {}).items():
        device = held.get(address, {})
        # lstopo alone speaks of local CPUs, so of what a resolver concludes; the others of numa_node
        field = "resolved_node" if want.get("node") is not None and want.get("by") == ["lstopo-live"] else "node"
        if not device or device["class"] != want.get("class", device["class"]):
            wrong.append(f"{address}: {device.get('class')}, not {want.get('class')}")
        elif "node" in want and device[field] != want["node"]:
            wrong.append(f"{address}: {field} {device[field]}, not {want['node']}")
    for name, want in wanted.get("net", {}).items():
        device = named.get(name, {})
        if (device.get("address"), device.get("node")) != (want["pci"], want["node"]):
            wrong.append(f"{name}: {device.get('address')} on {device.get('node')}, not {want}")
    return wrong


@pytest.mark.parametrize("name", NAMES or [pytest.param("none", id="none")])
def test_agrees_with_other_projects_tools(name: str):
    wanted = json.loads((FOLDER / f"{name}.oracle.json").read_text())["consensus"]
    found = discover(open_tree(str(FOLDER / f"{name}.tar.xz")))
    data = json.loads(json.dumps(topology_json.topology(found)))
    wrong = [line for check in (nodes, distances, cpus, devices) for line in check(wanted, data)]
    assert not wrong, "\n".join(wrong)
    assert topology(found, everything=True, verbose=True)


@pytest.mark.parametrize(
    ("name", "device", "count", "indexes"),
    [
        ("telco-2s80c-irq", "0000:3e:00.0", 81, range(81)),
        ("vm-1n12c-irq", "0000:04:00.0", 13, range(13)),
        ("pci-domain32", "0000:00:03.0", 3, range(3)),
    ],
)
def test_interrupts_of_captured_devices(name: str, device: str, count: int, indexes: range):
    if name not in NAMES:
        pytest.skip(f"{name} is not in {FOLDER}")
    found = discover(open_tree(str(FOLDER / f"{name}.tar.xz"))).interrupts_of(device)
    assert len(found) == count
    assert [irq.index for irq in found] == list(indexes)
