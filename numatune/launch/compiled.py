"""Placements worked out by apply, for starts that are like any other, as lines that `quick` reads. Pure.

A scope is what a process may have: the whole host, or one of the profile's cpusets. In each a line says where a process
without a rank belongs, and one where each rank does. A placement of which there is something to say (a warning, a limit
that moves) is left out: such starts are worked out anew.

    scope CPUS MEMS                            CPUS and NODES: hexadecimal bits
    devices ADDRESS ...                        NVIDIA's, which the driver must still list
    all|RANK CPUS|- MODE NODES TRAVELLING      then a line ``+ NAME=VALUE`` for each variable

Rank i takes device i here; where a list of visible devices says otherwise, `quick` takes the line of that device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch.carried import travelling
from numatune.launch.model import Placement, Process
from numatune.launch.placement import of_ranks, place
from numatune.launch.policy import Policy
from numatune.launch.ranks import Rank
from numatune.launch.seats import computes
from numatune.launch.visible import NVIDIA, Accelerator, visible
from numatune.topology.model import Topology

Scope = tuple[CpuSet, CpuSet]
"""CPUs and memory nodes that a process may have."""


def lines(topology: Topology, policy: Policy, cpusets: Iterable[Scope]) -> list[str]:
    """The table; empty where no start is simple enough."""
    there = [one for one in topology.devices if one.kind == "accelerator" and computes(one)]
    if policy.cgroup or policy.widen or policy.thp != "keep" or policy.shm != "keep" or policy.memory == "bind":
        return []
    if any(one.vendor != NVIDIA for one in there):
        return []
    given = tuple(Accelerator(address=one.address, vendor=one.vendor, model=one.device) for one in there)
    seen = visible({}, given)
    if any(step.warns for step in seen.steps):
        return []
    made: dict[tuple[int, str], list[str]] = {}
    every = CpuSet(node.id for node in topology.nodes if node.kind in {"cpu+mem", "memory-only"})
    for cpus, mems in ((topology.cpus.online - topology.cpus.isolated, every), *cpusets):
        process = Process(rank=Rank(), cpus=cpus, mems=mems, seen=seen.devices, accelerators=given)
        entries = list(_entries(topology, process, policy, len(given)))
        if entries and cpus and mems:
            made[cpus.bits, str(mems)] = [f"scope {cpus.bits:x} {mems}", *entries]
    if not made:
        return []
    return [
        f"devices {' '.join(one.address for one in given)}".rstrip(),
        *(line for each in made.values() for line in each),
    ]


def _entries(topology: Topology, process: Process, policy: Policy, count: int) -> Iterator[str]:
    yield from _simple(lambda: place(topology, process, policy))
    of = of_ranks(topology, process, policy, count)
    for rank in range(0 if policy.ranks else count):
        yield from _simple(functools.partial(of, rank))


def _simple(placed: Callable[[], Placement]) -> Iterator[str]:
    """The entry of a placement of which there is nothing to say."""
    try:
        made = placed()
    except LaunchError:
        return
    if not any(step.warns for step in made.steps):
        yield from _entry(made)


def _entry(made: Placement) -> Iterator[str]:
    name = "all" if made.rank is None else str(made.rank)
    cpus = f"{made.cpus.bits:x}" if made.bound else "-"
    told = travelling(replace(made, rank=None), made.memory)
    yield f"{name} {cpus} {made.memory.mode} {made.memory.nodes.bits:x} {told}"
    for variable, text in made.env.items():
        yield f"+ {variable}={text}"
