"""The CPUs of one process by the mode of the policy: of a device, of a rank without one, of a list. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch.model import Process
from numatune.launch.nearby import nearest
from numatune.launch.notes import Notes
from numatune.launch.policy import RankPolicy
from numatune.launch.seats import Seats
from numatune.launch.shares import cores_in, split, union
from numatune.launch.visible import Seen

Found = tuple[CpuSet, list[int]]
"""CPUs, and the nodes with CPUs that they belong to; () when nobody knows."""


@dataclass(frozen=True)
class Choice:
    """Makes the choice for one process. `own`: what is written out for its rank; `seats`: any rank's of its host."""

    seats: Seats
    notes: Notes
    own: RankPolicy
    process: Process

    def cpus(self, devices: tuple[Seen, ...]) -> Found:
        """The CPUs of a process that drives these devices."""
        policy = self.seats.policy
        if self.own.cpus is not None or policy.cpu == "list":
            return self._listed(devices)
        if self.own.node is not None:
            return self._at_node(self.own.node, f"rank {self.process.rank.rank}")
        if devices:
            each = [self._of_seen(place, one) for place, one in enumerate(devices)]
            homes = list(dict.fromkeys(home for _, home in each))
            known = [home for home in homes if home is not None]
            return union(cpus for cpus, _ in each), known if len(known) == len(homes) else []
        return self._without_device()

    def _listed(self, devices: tuple[Seen, ...]) -> Found:
        policy, rank = self.seats.policy, self.process.rank.rank
        wanted = self.own.cpus if self.own.cpus is not None else policy.cpus
        if rank is None and wanted is None:
            wanted = union(one.cpus for one in policy.ranks.values() if one.cpus is not None)
        if not wanted:
            reason = "this rank has no list of CPUs" if rank is not None else "no list of CPUs"
            self.notes.unknown("cpus", str(self.seats.allowed), reason, "ranks: in the profile gives one")
            homes = [home for one in devices if (home := self.seats.home(one.address)) is not None]
            return self.seats.allowed, list(dict.fromkeys(homes))
        cpus = self._within(wanted)
        if self.own.node is not None:
            return cpus, [self.own.node]
        return cpus, [node.id for node in self.seats.nodes if node.cpus & cpus]

    def _within(self, wanted: CpuSet) -> CpuSet:
        """What of a list is allowed; all that is allowed when that is nothing."""
        allowed = self.seats.allowed
        if cpus := wanted & allowed:
            if cpus != wanted:
                self.notes.make_up("cpus", str(cpus), f"without CPUs {wanted - cpus} of the list: not allowed here")
            else:
                self.notes.say("cpus", str(cpus), "the list")
            return cpus
        self.notes.make_up("cpus", str(allowed), f"of the list {wanted} no CPU is allowed here: all that are")
        return allowed

    def _of_seen(self, place: int, one: Seen) -> tuple[CpuSet, int | None]:
        """Of one of the devices; for a process that drives all of them, where that device's rank is written out."""
        own = self.seats.policy.ranks.get(place) if self.process.rank.rank is None else None
        if own is not None and own.cpus is not None:
            return self._within(own.cpus), self.seats.home(one.address) if own.node is None else own.node
        if own is not None and own.node is not None:
            cpus, homes = self._at_node(own.node, f"rank {place}")
            return cpus, homes[0] if homes else None
        return self._of_device(one)

    def _at_node(self, node: int, key: str) -> Found:
        topology = self.seats.topology
        if topology.node(node) is None:
            there = CpuSet(one.id for one in topology.nodes)
            raise LaunchError("node", f"no node {node} here", accepted=f"one of {there}")
        home = nearest(topology, node, self.seats.nodes)
        if home is None:
            return self.seats.allowed, []
        if home.id != node:
            self.notes.make_up("node", str(home.id), f"node {node} has no CPUs; the nearest node that has some")
        return self._unit(key, home.id, f"node {home.id}, as asked for"), [home.id]

    def _of_device(self, one: Seen) -> tuple[CpuSet, int | None]:
        """The CPUs and the node of one device."""
        seats, name = self.seats, one.address or one.named
        home, known = seats.home(one.address), seats.device(one.address)
        if home is None or known is None:
            hint = f'devices: {{"{name}": NODE}} in the profile tells it' if known else "its address would tell"
            self.notes.unknown("node", "unknown", f"nobody knows at which node {name} is", hint)
            if len(seats.nodes) == 1 and known and seats.policy.cpu in {"exclusive", "l3"}:
                return self._unit(one.address, seats.nodes[0].id, "the only node", one), None
            self.notes.say("cpus", str(seats.allowed), "all that are allowed")
            return seats.allowed, None
        if known.resolved_node != home:
            reason = f"{name} is at node {known.resolved_node}, which has no CPUs; the nearest that has some"
            self.notes.say("node", str(home), reason)
        else:
            self.notes.say("node", str(home), f"{name}, by {known.resolved_by}")
        if seats.policy.cpu == "none":
            return seats.allowed, home
        return self._unit(one.address, home, f"node {home}", one), home

    def _unit(self, key: str, home: int, what: str, one: Seen | None = None) -> CpuSet:
        """What the mode gives to a seat at a node."""
        seats, near = self.seats, self.seats.near(home)
        if seats.policy.cpu == "exclusive":
            return self._exclusive(key, what, one)
        if not near:
            reason = f"none of CPUs {seats.cpus_of(home)} of {what} is allowed here: all that are"
            self.notes.make_up("cpus", str(seats.allowed), reason)
            return seats.allowed
        match seats.policy.cpu:
            case "l3":
                return self._cache(near, seats.beside(key), what)
            case "socket":
                return self._socket(near, what)
            case _:
                self.notes.say("cpus", str(near), what)
                return near

    def _exclusive(self, key: str, what: str, one: Seen | None) -> CpuSet:
        seats = self.seats
        share = seats.shared_out.get(key, CpuSet())
        if not share:
            self.notes.make_up("cpus", str(seats.allowed), f"nothing is left for {what}: all that is allowed")
            return seats.allowed
        if key in seats.displaced:
            reason = f"no CPU of {what} is allowed here and left; a share of those that are"
            self.notes.make_up("cpus", str(share), reason)
        if key in seats.crowded:
            self.notes.make_up("cpus", str(share), f"more devices or ranks than cores at {what}: they share")
        place, number = seats.beside(key)
        self.notes.say("cpus", str(share), f"share {place + 1} of {number} at {what}")
        return self._partition(share, one) if one else share

    def _partition(self, share: CpuSet, one: Seen) -> CpuSet:
        """A partition's part of its device's share."""
        if one.parts == 1:
            return share
        cores = cores_in(self.seats.topology, share)
        if one.parts == 0 or one.parts > len(cores):
            why = "nobody tells how many there are" if one.parts == 0 else f"{one.parts} of them, {len(cores)} cores"
            self.notes.say("partition", str(share), f"shared with other partitions of {one.address}: {why}")
            return share
        part = split(cores, one.parts)[one.part]
        self.notes.say("partition", str(part), f"{one.part + 1} of {one.parts} of {one.address}")
        return part

    def _cache(self, near: CpuSet, beside: tuple[int, int], what: str) -> CpuSet:
        """One group of CPUs with a common cache: the larger ones first, in turn."""
        groups = [part for group in self.seats.topology.cpus.l3 if (part := group & near)]
        if not groups:
            self.notes.make_up("cpus", str(near), f"the host tells of no last-level caches: all of {what}")
            return near
        groups.sort(key=lambda group: (-len(group), group.first))
        place, number = beside
        chosen = groups[place % len(groups)]
        shared = "; fewer caches than devices or ranks, so that some share" if number > len(groups) else ""
        self.notes.say("cpus", str(chosen), f"cache {place % len(groups) + 1} of {len(groups)} at {what}{shared}")
        return chosen

    def _socket(self, near: CpuSet, what: str) -> CpuSet:
        packages = [cpus for cpus in self.seats.topology.cpus.packages.values() if cpus & near]
        if not packages:
            self.notes.make_up("cpus", str(near), f"the host tells of no packages: {what}")
            return near
        whole = (union(packages) & self.seats.allowed) - self.seats.reserved
        self.notes.say("cpus", str(whole), f"the package of {what}")
        return whole

    def _without_device(self) -> Found:
        rank, size = self.process.rank.rank, self.process.rank.size
        if self.seats.policy.cpu == "none" or (rank is not None and self.process.seen):
            return self.seats.allowed, []
        if rank is None or self.process.rank.alone:
            return self._alone()
        if size is None or rank >= size:
            found = f"rank {rank} without a device needs the number of ranks on this host"
            raise LaunchError("rank", found, hint="--local-size tells it")
        return self._of_rank(rank, size)

    def _alone(self) -> Found:
        """A process without rank or device: everything. It is near to some nodes only where it may not have all."""
        everything = self.seats.allowed - self.seats.reserved
        self.notes.say("cpus", str(everything), "no device, and no other rank here: all that is allowed")
        touched = [node.id for node in self.seats.nodes if node.cpus & everything]
        return everything, touched if len(touched) in range(1, max(2, len(self.seats.nodes))) else []

    def _of_rank(self, rank: int, size: int) -> Found:
        """A rank without a device: its part of the nodes."""
        seats = self.seats
        nodes, place, number = seats.block(rank, size)
        near = union(seats.near(node) for node in nodes) or seats.allowed - seats.reserved
        what = f"node {CpuSet(nodes)}" if nodes else "the host"
        told = f"{what}, rank {rank} of {size}"
        match seats.policy.cpu:
            case "exclusive":
                cores = cores_in(seats.topology, near)
                if number > len(cores):
                    reason = f"more ranks than cores at {what}: they share"
                    self.notes.make_up("cpus", str(cores[place % len(cores)]), reason)
                share = split(cores, number)[place]
                self.notes.say("cpus", str(share), f"share {place + 1} of {number} at {told}")
                return share, nodes
            case "l3":
                return self._cache(near, (place, number), what), nodes
            case "socket":
                return self._socket(near, what), nodes
            case _:
                self.notes.say("cpus", str(near), told)
                return near, nodes
