"""Topology + what the process may have + its devices and rank + policy -> where it belongs. Pure.

Every decision is a step with its reason. What the policy did not ask for (a set that is empty here, a node that has no
memory) is made up for with a step that warns; under `strict` it is a LaunchError instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch import targets
from numatune.launch.choice import Choice
from numatune.launch.model import Memory, Placement, Process
from numatune.launch.nearby import adapter_name, adapters, is_rdma
from numatune.launch.notes import Notes
from numatune.launch.policy import COUNTED, Policy
from numatune.launch.ranks import Rank
from numatune.launch.seats import Seats
from numatune.launch.shares import cores_in, union
from numatune.launch.step import Step
from numatune.launch.visible import Seen, find
from numatune.topology.model import Device, Topology

_MUCH_SMALLER = 4
"""A quarter of a device's share looks like a mistake, as that image whose workers all inherited one core
(TensorRT-LLM issue 9549)."""


def place(topology: Topology, process: Process, policy: Policy) -> Placement:
    """Where the process belongs. Raises LaunchError when the policy leaves no answer."""
    return _Placing(Seats(topology, process, policy), process).placement()


def of_ranks(topology: Topology, process: Process, policy: Policy, size: int) -> Callable[[int], Placement]:
    """Where each of the ranks 0 to `size` - 1 of a host belongs, by its number: as `place` would say it of each.

    They have the seats in common, which are worked out once. What it returns raises LaunchError as `place` does.
    """
    seats = Seats(topology, replace(process, rank=Rank(0, size)), policy)
    return lambda rank: _Placing(seats, replace(process, rank=Rank(rank, size))).placement()


class _Placing:
    """One placement on its way. `seats`: those of any rank of the same host."""

    def __init__(self, seats: Seats, process: Process) -> None:
        self.topology = seats.topology
        self.process = process
        self.policy = seats.policy
        self.rank = process.rank.rank
        self.own = self.policy.rank(self.rank)
        self.seats = seats
        self.notes = Notes(self.policy, list(process.rank.steps))

    def placement(self) -> Placement:
        devices = self._devices()
        self._tell_what_is_allowed()
        cpus, homes = Choice(self.seats, self.notes, self.own, self.process).cpus(devices)
        bound = self.policy.cpu != "none" or self.own.node is not None or self.own.cpus is not None
        cpus = self._thinned(cpus) if bound else cpus
        known = [device for one in devices if (device := self.seats.device(one.address))]
        self._warn_of_a_small_set(cpus, known)
        memory = self._memory(homes)
        near = [adapter for one in known for adapter in adapters(self.topology, one)]
        return Placement(
            rank=self.rank,
            devices=tuple(dict.fromkeys(one.address for one in devices if one.address)),
            node=homes[0] if len(homes) == 1 else None,
            cpus=cpus,
            bound=bound,
            memory=memory,
            shm=self._shared_memory(),
            nics=tuple(dict.fromkeys(map(adapter_name, near))),
            env=self._environment(cpus, near),
            steps=tuple(self.notes.steps),
        )

    def _devices(self) -> tuple[Seen, ...]:
        """What this process drives: all that it sees without a rank, else the one of its rank."""
        seen, rank = self.process.seen, self.rank
        if self.own.device is not None:
            found = find(self.own.device, self.process.accelerators, seen)
            if found is None:
                accepted = ", ".join(one.address for one in self.process.accelerators) or "none is here"
                raise LaunchError("device", f"no device {self.own.device}", accepted=accepted)
            self.notes.say("device", found.address, f"asked for as {self.own.device}")
            return (found,)
        if not seen or rank is None or self.process.rank.alone:
            return seen
        if len(seen) == 1:
            self.notes.say("device", seen[0].address or seen[0].named, f"the only one that rank {rank} sees")
            return seen
        if rank < len(seen):
            one = seen[rank]
            self.notes.say("device", one.address or one.named, f"number {rank} of {len(seen)} visible ones")
            return (one,)
        if self.own.node is None and self.own.cpus is None:
            reason = f"ranks from {len(seen)} on have none of the {len(seen)} visible devices"
            self.notes.unknown("device", "none", reason, "--device names one")
        return ()

    def _tell_what_is_allowed(self) -> None:
        seats = self.seats
        if not seats.whole:
            reason = "what was inherited is less than the host: split between its own devices, nothing reserved"
            self.notes.say("allowed", f"CPUs {seats.allowed}", reason)
        else:
            self._tell_what_is_reserved()
        if crossing := seats.crossing:
            reason = "a virtual machine's or firmware's tables of nodes and cores disagree"
            self.notes.steps.append(Step("cores", f"{crossing} cores lie in several nodes", reason, warns=True))

    def _tell_what_is_reserved(self) -> None:
        """A node that has too few cores reserves fewer than were asked for, or none."""
        asked, kept = self.policy.reserve_cores, self.seats.reserved_cores
        if not kept:
            return
        reason = f"{asked} {'core' if asked == 1 else 'cores'} a node for the system and interrupts"
        if fewer := sorted({len(cores) for cores in kept.values()} - {asked}):
            at = {count: CpuSet(node for node, cores in kept.items() if len(cores) == count) for count in fewer}
            real = ", ".join(f"{count} {'core' if count == 1 else 'cores'} at node {at[count]}" for count in fewer)
            reason = f"{real}; {asked} a node were asked for, but each keeps one, and one a device"
        told = f"CPUs {self.seats.reserved}" if self.seats.reserved else "no CPU"
        self.notes.say("reserved", told, reason)

    def _thinned(self, cpus: CpuSet) -> CpuSet:
        """One CPU a core under `smt: drop`."""
        if self.policy.smt == "keep":
            return cpus
        first = union(core.take(1) for core in cores_in(self.topology, cpus))
        if first != cpus:
            self.notes.say("smt", str(first), "one CPU of each core")
        return first

    def _warn_of_a_small_set(self, cpus: CpuSet, devices: list[Device]) -> None:
        seats = self.seats
        if seats.whole:
            return
        homes = [seats.home(one.address) for one in self.topology.devices if one.kind == "accelerator"]
        own = [home for one in devices if (home := seats.home(one.address)) is not None]
        share = sum(len(seats.cpus_of(home)) // max(1, homes.count(home)) for home in own)
        share = share or len(seats.online) // (self.process.rank.size or 1)
        if len(cpus) * _MUCH_SMALLER <= share:
            reason = f"{share} would be its share of the host; --widen starts from the cpuset, not from the affinity"
            self.notes.steps.append(Step("allowed", f"only {len(cpus)} CPUs", reason, warns=True))

    def _memory(self, homes: list[int]) -> Memory:
        named = self.own.memory or self.policy.memory_nodes
        if named is None and self.own.node is not None:
            named = CpuSet([self.own.node])
        chosen = targets.memory(self.topology, self.process.mems, self.policy.memory, named, homes)
        for step in chosen.steps:
            if step.warns:
                self.notes.make_up(step.step, step.result, step.reason)
            else:
                self.notes.steps.append(step)
        self.notes.steps += targets.figures(self.topology, chosen.memory, len(self.seats.counted))
        return chosen.memory

    def _shared_memory(self) -> CpuSet:
        """What /dev/shm is to be spread over."""
        named = self.policy.shm_nodes
        if named is None:
            return CpuSet()
        chosen = targets.memory(self.topology, self.process.mems, "interleave", named or None, ())
        for step in chosen.steps:
            if step.warns:
                self.notes.make_up("shm", step.result, step.reason)
            else:
                self.notes.say("shm", step.result, step.reason)
        return chosen.memory.nodes

    def _environment(self, cpus: CpuSet, near: list[Device]) -> dict[str, str]:
        """What is to be set, of adapters near the devices too; a variable that the caller has is left alone."""
        counts = {"cpus": len(cpus), "cores": len(cores_in(self.topology, cpus))}
        wanted = {name: str(counts[text]) if text in COUNTED else text for name, text in self.policy.env.items()}
        rdma = list(dict.fromkeys(adapter_name(one) for one in near if is_rdma(one)))
        if self.policy.nics and rdma:
            wanted["NCCL_IB_HCA"] = f"={','.join(rdma)}"
            wanted["UCX_NET_DEVICES"] = ",".join(f"{name}:1" for name in rdma)
        for name in sorted(wanted.keys() & self.process.caller):
            self.notes.say("env", f"{name} left alone", "the caller has set it")
        return {name: text for name, text in sorted(wanted.items()) if name not in self.process.caller}
