"""Small hosts for the cases, as topologies written by hand, and captured ones.

shape:
  nodes      id -> CPU list, or {cpus: LIST, memory: GiB, free: GiB}; memory 16 unless said; 0: none
  siblings   N: CPUs c and c+N are one core; `threads: N`: N neighbours are one core
  offline    CPUs that do not run
  isolated   CPUs that were isolated at boot
  l3         lists of CPUs
  packages   lists of CPUs; default: a package a node
  distances  {node: [a row in the order of the nodes]}
  devices    [address, ...] or {address: node | {node, vendor, model, kind, names, parents, local, uuid, mig, parts,
             tiles}}; an accelerator of NVIDIA unless said
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.host.captured import open_tree
from numatune.launch import devices
from numatune.launch.devices import Found
from numatune.launch.visible import Accelerator
from numatune.topology.model import Core, Cpus, Device, Node, NodeKind, Section, Topology
from numatune.topology.resolve import canonical, resolve

CAPTURES = Path(os.environ.get("NUMATUNE_CAPTURES") or Path(__file__).parents[3] / "shared/captures")
GIB = 1 << 30


@functools.cache
def captured(name: str) -> tuple[Topology, Found]:
    tree = open_tree(str(CAPTURES / f"{name}.tar.xz"))
    topology = discover(tree, {Section.DEVICES})
    return topology, devices.accelerators(tree, topology, lambda _: False)


def shaped(shape: Mapping[str, Any]) -> Topology:
    rows = {int(node): row if isinstance(row, dict) else {"cpus": row} for node, row in shape["nodes"].items()}
    offline = cpu_set(shape.get("offline"))
    every = CpuSet(cpu for row in rows.values() for cpu in cpu_set(row.get("cpus")))
    online = every - offline
    nodes = tuple(_node(node, row, online, shape, list(rows)) for node, row in rows.items())
    hardware = tuple(_device(address, row) for address, row in _rows(shape.get("devices", {})).items())
    packages = shape.get("packages") or [str(node.cpus) for node in nodes if node.cpus]
    cpus = Cpus(
        online=online,
        offline=offline,
        isolated=cpu_set(shape.get("isolated")),
        cores=tuple(Core(cpus=core & online) for core in _cores(every, shape) if core & online),
        packages={place: cpu_set(text) & online for place, text in enumerate(packages)},
        l3=tuple(cpu_set(text) & online for text in shape.get("l3", ())),
    )
    sections = frozenset({Section.CPUS, Section.NODES, Section.DEVICES})
    return Topology(sections=sections, cpus=cpus, nodes=nodes, devices=resolve(hardware, nodes, online))


def given(topology: Topology, shape: Mapping[str, Any]) -> tuple[Accelerator, ...]:
    """As the driver would give them: all, in PCI order."""
    rows = {canonical(address): row for address, row in _rows(shape.get("devices", {})).items()}
    found = []
    for device in topology.devices:
        row = rows.get(device.address, {})
        if device.kind != "accelerator":
            continue
        known = {"model": device.device, "uuid": row.get("uuid", ""), "mig": tuple(row.get("mig", ()))}
        known["tiles"] = row.get("tiles", 1)
        parts = row.get("parts", 1)
        found += [
            Accelerator(address=device.address, vendor=device.vendor, part=part, parts=parts, **known)
            for part in range(parts)
        ]
    return tuple(found)


def cpu_set(text: object) -> CpuSet:
    return CpuSet() if text is None else CpuSet.parse(str(text))


def _rows(shape: Any) -> dict[str, dict[str, Any]]:
    if isinstance(shape, list):
        return {address: {} for address in shape}
    return {address: row if isinstance(row, dict) else {"node": row} for address, row in shape.items()}


def _node(node: int, row: Mapping[str, Any], online: CpuSet, shape: Mapping[str, Any], ids: list[int]) -> Node:
    cpus, memory = cpu_set(row.get("cpus")) & online, int(row.get("memory", 16) * GIB)
    kind: NodeKind = ("cpu+mem" if memory else "cpu-only") if cpus else "memory-only" if memory else "empty"
    distances = shape.get("distances", {}).get(node, [10 if node == other else 20 for other in ids])
    free = int(row.get("free", row.get("memory", 16)) * GIB)
    return Node(
        id=node,
        cpus=cpus,
        kind=kind,
        memory_bytes=memory,
        free_bytes=free,
        distances=dict(zip(ids, distances, strict=True)),
    )


def _cores(every: CpuSet, shape: Mapping[str, Any]) -> list[CpuSet]:
    if gap := shape.get("siblings"):
        firsts = [cpu for cpu in every if cpu - gap not in every]
        return [CpuSet(range(first, every.last + 1, gap)) & every for first in firsts]
    threads = shape.get("threads", 1)
    order = list(every)
    return [CpuSet(order[start : start + threads]) for start in range(0, len(order), threads)]


def _device(address: str, row: Mapping[str, Any]) -> Device:
    node = row.get("node")
    kind = row.get("kind", "accelerator")
    return Device(
        address=canonical(address),
        class_=row.get("class", "0302" if kind == "accelerator" else "0207"),
        kind=kind,
        vendor=row.get("vendor", "10de"),
        device=row.get("model", "2330"),
        names=tuple(row.get("names", ())),
        node=node if node is not None and node >= 0 else None,
        local_cpus=CpuSet.parse(row["local"]) if "local" in row else None,
        parents=tuple(row.get("parents", ())),
    )
