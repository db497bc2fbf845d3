"""Which nodes a rank's memory goes to. Pure.

Memory-only nodes (GPU memory, CXL) are targets only when they are named: a GPU cannot pin what lies on another GPU
(open-gpu-kernel-modules issue 885), and nobody wants a heap in GPU memory by accident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.launch.model import Memory
from numatune.launch.nearby import nearest, with_both
from numatune.launch.policy import MemoryMode
from numatune.launch.step import Step
from numatune.topology.model import Node, Topology

_INTERLEAVES = ("interleave", "weighted-interleave")
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Chosen:
    """The policy; a step that warns tells that it is not what was asked for."""

    memory: Memory
    steps: tuple[Step, ...] = ()


def memory(topology: Topology, allowed: CpuSet, mode: MemoryMode, named: CpuSet | None, homes: Sequence[int]) -> Chosen:
    """The memory policy of a rank.

    allowed  nodes that the cpuset lets it have
    named    targets by name
    homes    nodes that its CPUs are of; () when nobody knows
    """
    if mode in {"none", "local"}:
        return Chosen(Memory(mode), (Step("memory", mode, "as asked for"),))
    usable = [node for node in with_both(topology) if node.id in allowed]
    steps: list[Step] = []
    nodes = _named(topology, allowed, named, steps) if named else CpuSet()
    if not nodes and mode in _INTERLEAVES:
        nodes = CpuSet(node.id for node in usable)
        steps.append(Step("memory", f"{mode} over {nodes}", "every node with CPUs and memory that is allowed"))
    elif not nodes:
        nodes = _near(topology, allowed, usable, homes, steps)
    if not nodes:
        return Chosen(Memory(), (*steps, Step("memory", "none", "no node is known to be near: as the kernel does")))
    return _fitted(mode, nodes, steps)


def figures(topology: Topology, chosen: Memory, devices: int) -> list[Step]:
    """Under bind, what is free: beyond it the kernel reclaims, then kills, and never takes another node's memory."""
    if chosen.mode != "bind":
        return []
    nodes = [node for node in topology.nodes if node.id in chosen.nodes]
    free, total = sum(node.free_bytes or 0 for node in nodes), sum(node.memory_bytes or 0 for node in nodes)
    if not total or any(node.free_bytes is None for node in nodes):
        return []
    all_nodes = sum(node.memory_bytes or 0 for node in with_both(topology)) or total
    share = min(total, all_nodes // max(1, devices))
    told = f"{free / _GIB:.1f} of {total / _GIB:.1f} GiB are free on node {chosen.nodes}"
    reason = f"{told}; beyond that bind reclaims and then kills, preferred takes other nodes' memory"
    return [Step("memory", "bind", reason, warns=free < share)]


def _named(topology: Topology, allowed: CpuSet, named: CpuSet, steps: list[Step]) -> CpuSet:
    """Those of the named nodes that can be had. With none of them the rank's own node is taken, and that is said."""
    there = CpuSet(node.id for node in topology.nodes if node.kind in {"cpu+mem", "memory-only"})
    nodes = named & there & allowed
    for lost, why in (((named - there), "no memory there"), ((named & there) - allowed, "not in this cpuset's mems")):
        if lost:
            steps.append(Step("memory", f"without node {lost}", why, warns=True))
    if nodes:
        steps.append(Step("memory", f"node {nodes}", "named"))
    return nodes


def _near(topology: Topology, allowed: CpuSet, usable: list[Node], homes: Sequence[int], steps: list[Step]) -> CpuSet:
    """For each home itself, else the nearest node that has memory and is allowed."""
    found: dict[int, None] = {}
    for home in homes:
        target = nearest(topology, home, usable)
        if target is None:
            why = _without(topology, home, allowed)
            steps += [] if why in steps else [why]
            continue
        found[target.id] = None
        node = topology.node(home)
        if target.id == home:
            steps.append(Step("memory", f"node {home}", "where the CPUs are"))
        elif node is not None and node.kind == "cpu-only":
            steps.append(Step("memory", f"node {target.id}", f"node {home} has no memory; the nearest that has some"))
        else:
            reason = f"node {home} is not in this cpuset's mems {allowed}; the nearest that is"
            steps.append(Step("memory", f"node {target.id}", reason, warns=True))
    return CpuSet(found)


def _without(topology: Topology, home: int, allowed: CpuSet) -> Step:
    """Why a home has no node to take memory from."""
    there = CpuSet(node.id for node in with_both(topology))
    if not there:
        reason = "no node has CPUs and memory; of nodes with memory alone none is taken unless --memory-nodes names it"
    elif home in there:
        reason = f"node {home}'s memory is not allowed, nor is any other with CPUs: mems are {allowed}"
    else:
        reason = f"node {home} has no memory, and that of node {there} is not allowed: mems are {allowed}"
    return Step("memory", "none", reason, warns=True)


def _fitted(mode: MemoryMode, nodes: CpuSet, steps: list[Step]) -> Chosen:
    """The mode for that number of nodes."""
    if mode in _INTERLEAVES and len(nodes) == 1:
        steps.append(Step("memory", "local", f"node {nodes} is the only one: nothing to interleave"))
        return Chosen(Memory("local"), tuple(steps))
    if mode == "preferred" and len(nodes) > 1:
        steps.append(Step("memory", "preferred-many", f"preferred takes one node, these are {nodes}"))
        return Chosen(Memory("preferred-many", nodes), tuple(steps))
    return Chosen(Memory(mode, nodes), tuple(steps))
