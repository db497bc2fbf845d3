"""Where workers that run already belong, by the devices that they have open, and binding all their threads there.

A device's share is worked out as for the rank that drives it: on the whole host between all its devices, in a smaller
cpuset between those that are in use there. CPUs can be changed from outside, a memory policy cannot: what is placed
stays, and is told.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch import opened
from numatune.launch.devices import Found
from numatune.launch.model import Placement, Process
from numatune.launch.placement import place
from numatune.launch.policy import Policy
from numatune.launch.proof import Proof
from numatune.launch.ranks import Rank
from numatune.launch.shares import union
from numatune.launch.visible import as_whole
from numatune.launch.worker import Rebind, Worker
from numatune.topology.model import Topology

_PASSES = 5
"""A thread that is made while others are bound inherits from one that may not be bound yet: looked for again."""


def wanted(
    topology: Topology, found: Found, policy: Policy, workers: Sequence[Worker], proofs: Iterable[Proof]
) -> list[Rebind]:
    """Where these processes belong. `workers`: all of the host, for what they share cpusets with."""

    def placed(worker: Worker) -> tuple[Placement, ...]:
        return belongs(topology, found, policy, worker, workers)

    known = {one.pid: one for one in workers}
    return [_wanted(known.get(one.pid), one, placed) for one in proofs]


def _wanted(worker: Worker | None, proof: Proof, where: Callable[[Worker], tuple[Placement, ...]]) -> Rebind:
    if worker is None:
        return Rebind(proof=proof, left=proof.unreadable or "it has ended")
    devices = tuple(dict.fromkeys(one.address for one in worker.opened))
    if not devices:
        return Rebind(proof=proof, started=worker.started, left="it has no device open")
    try:
        placed = where(worker)
    except LaunchError as error:
        return Rebind(proof=proof, started=worker.started, devices=devices, left=str(error))
    nodes = {one.node for one in placed}
    bound = all(one.bound for one in placed)
    return Rebind(
        proof=proof,
        started=worker.started,
        devices=devices,
        node=next(iter(nodes)) if len(nodes) == 1 else None,
        cpus=union(one.cpus for one in placed) if bound else CpuSet(),
        nodes=union(one.memory.nodes for one in placed),
        left="" if bound else "cpu: none leaves CPUs as they are",
        steps=tuple(dict.fromkeys(step for one in placed for step in one.steps)),
    )


def belongs(
    topology: Topology, found: Found, policy: Policy, worker: Worker, workers: Iterable[Worker]
) -> tuple[Placement, ...]:
    """A placement for each device that a worker has open, as for the rank that drives it. Pure. Raises LaunchError."""
    online = topology.cpus.online
    cpus = online if worker.cpus is None else worker.cpus & online
    cpus = cpus - topology.cpus.isolated or cpus
    mems = CpuSet(node.id for node in topology.nodes) if worker.mems is None else worker.mems
    in_use = {one for other in workers if other.cpus == worker.cpus for one in other.opened}
    whole = online - topology.cpus.isolated <= cpus
    placed = []
    for device in worker.opened:
        kin = [one for one in found.given if one.vendor == device.vendor and (whole or one in in_use)]
        process = Process(
            rank=Rank(kin.index(device), len(kin), "the device that it has open"),
            cpus=cpus,
            mems=mems,
            seen=tuple(map(as_whole, kin)),
            accelerators=found.given,
            kin=found.kin,
        )
        placed.append(place(topology, process, policy))
    return tuple(placed)


def rebind(planned: Rebind) -> Rebind:
    """Bind all threads that are not where they belong, each looked at again just before; reads back what is held."""
    pid, cpus = planned.proof.pid, planned.cpus
    bound: list[int] = []
    refused: dict[int, str] = {}
    for _ in range(_PASSES if cpus else 0):
        before = len(bound)
        for thread in opened.threads(pid):
            held = opened.allowed(pid, thread) if opened.started(pid) == planned.started else None
            if held is None or held <= cpus or thread in refused:
                continue
            try:
                os.sched_setaffinity(thread, cpus)
                held = CpuSet(os.sched_getaffinity(thread))
            except ProcessLookupError:
                continue
            except OSError as error:
                refused[thread] = _told(error)
                continue
            bound.append(thread)
            if not held <= cpus:
                refused[thread] = f"the kernel holds {held}"
        if len(bound) == before:
            break
    return replace(planned, bound=tuple(dict.fromkeys(bound)), refused=refused)


def _told(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, str(error.errno))
    match error.errno:
        case errno.EPERM:
            return f"{name}: another user's: needs root"
        case errno.EINVAL:
            return f"{name}: its cpuset has changed, and allows none of these CPUs"
        case _:
            return f"{name}: {os.strerror(error.errno or 0)}"
