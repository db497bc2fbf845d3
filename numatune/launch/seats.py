"""Who sits where: devices and ranks on nodes, and the CPUs that each may come from. Pure.

The whole host is split between all devices of the vendor, hidden ones too, so that ranks that see one device each agree
without a word. A smaller set of CPUs was cut for this job already: it is split between the job's own devices, and
nothing of it is reserved again.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.launch.model import Process
from numatune.launch.nearby import nearest, with_cpus
from numatune.launch.policy import Policy, RankPolicy
from numatune.launch.shares import Seat, cores_in, crowded, shares, union
from numatune.topology.model import Device, Node, Topology


@dataclass(frozen=True)
class Seats:
    """The seats of a host, for one process and one policy. The same for each rank below the number of ranks."""

    topology: Topology
    process: Process
    policy: Policy

    @functools.cached_property
    def online(self) -> CpuSet:
        """CPUs that run."""
        return self.topology.cpus.online

    @functools.cached_property
    def allowed(self) -> CpuSet:
        """CPUs that this process may have."""
        return self.process.cpus & self.online or self.process.cpus

    @functools.cached_property
    def whole(self) -> bool:
        """Whether that is the whole host: CPUs that were isolated at boot are in nobody's affinity."""
        return self.online - self.topology.cpus.isolated <= self.allowed

    @functools.cached_property
    def nodes(self) -> list[Node]:
        """Nodes with CPUs. Of nodes to which firmware gives the same CPUs the first counts."""
        found: list[Node] = []
        for node in with_cpus(self.topology):
            if not any(node.cpus == other.cpus for other in found):
                found.append(node)
        return found

    @functools.cached_property
    def crossing(self) -> int:
        """How many cores lie in several nodes."""
        nodes = [node.cpus.bits for node in self.nodes]
        every = (core.cpus.bits for core in self.topology.cpus.cores)
        return sum(sum(bool(node & core) for node in nodes) > 1 for core in every)

    def device(self, address: str) -> Device | None:
        """The PCI device of that address."""
        return self._devices.get(address)

    @functools.cached_property
    def _devices(self) -> Mapping[str, Device]:
        return {one.address: one for one in reversed(self.topology.devices)}

    def home(self, address: str) -> int | None:
        """The node with CPUs that a device is nearest to; None when nobody knows where the device is."""
        device = self.device(address)
        if device is None or device.resolved_node is None:
            return None
        found = nearest(self.topology, device.resolved_node, self.nodes)
        return found.id if found else None

    @functools.cached_property
    def counted(self) -> list[str]:
        """Addresses of the devices between which CPUs are split, in PCI order."""
        own = list(dict.fromkeys(one.address for one in self.process.seen if one.address))
        vendors = {device.vendor for address in own if (device := self.device(address))}
        kin = [
            one.address
            for one in self.topology.devices
            if one.address in own
            or (bool(own) and one.address in self.process.kin)
            or (one.kind == "accelerator" and one.vendor in vendors and computes(one))
        ]
        if self.whole or self._hides_those_of_others(own, kin):
            return kin
        return [address for address in kin if address in own]

    def _hides_those_of_others(self, own: list[str], kin: list[str]) -> bool:
        """Whether the cut set is the job's, of whose devices this rank sees its own alone.

        So when there are more ranks than devices in sight, and the CPUs near them are more than their share of the
        host: a set that was cut for this very rank is no larger.
        """
        size = self.process.rank.size
        if size is None or size <= len(self.process.seen) or len(kin) <= len(own):
            return False
        near = union(self.near(home) for address in own if (home := self.home(address)) is not None)
        homes = [self.home(address) for address in kin]
        share = sum(
            len(self.cpus_of(home)) // homes.count(home) for address in own if (home := self.home(address)) is not None
        )
        return len(near) > share

    def cpus_of(self, node: int) -> CpuSet:
        """All CPUs of a node that run."""
        found = self.topology.node(node)
        return found.cpus if found else CpuSet()

    def near(self, node: int) -> CpuSet:
        """The CPUs of a node that this process may have, without those that are reserved."""
        return (self.cpus_of(node) & self.allowed) - self.reserved

    @functools.cached_property
    def reserved(self) -> CpuSet:
        """The first cores of each node, when the host is to be had as a whole; each node keeps one core a device."""
        return union(core for cores in self.reserved_cores.values() for core in cores)

    @functools.cached_property
    def reserved_cores(self) -> Mapping[int, list[CpuSet]]:
        """The same by node that has CPUs for this process; empty where nothing is asked for or to be had."""
        if not self.whole or not self.policy.reserve_cores:
            return {}
        homes = [self.home(address) for address in self.counted]
        kept = {}
        for node in self.nodes:
            cores = sorted(cores_in(self.topology, node.cpus & self.allowed), key=lambda core: core.first)
            spare = len(cores) - max(1, homes.count(node.id))
            if cores:
                kept[node.id] = cores[: max(0, min(self.policy.reserve_cores, spare))]
        return kept

    @functools.cached_property
    def device_seats(self) -> list[Seat]:
        """The seats. A device whose node has nothing for it comes from where no other one is, else from all."""
        found = self._own_places
        left = self.allowed - self.reserved - self._taken - union(found.values())
        other = left or self.allowed - self.reserved - self._taken or self.allowed
        return [Seat(key, near or other) for key, near in found.items()]

    @functools.cached_property
    def displaced(self) -> frozenset[str]:
        """Seats of which nothing is left where they belong."""
        return frozenset(key for key, near in self._own_places.items() if not near)

    @property
    def _taken(self) -> CpuSet:
        """CPUs that are written out for a rank, and nobody else's."""
        return union(one.cpus for one in self.policy.ranks.values() if one.cpus is not None)

    @functools.cached_property
    def _own_places(self) -> Mapping[str, CpuSet]:
        """By key: what there is for each device whose place is known, and for each rank that has a node written out."""
        known = [(address, home) for address in self._free if (home := self.home(address)) is not None]
        known += [
            (f"rank {rank}", place.id)
            for rank, one in self._written.items()
            if one.node is not None and one.cpus is None
            if (place := nearest(self.topology, one.node, self.nodes))
        ]
        if len(self.nodes) == 1:
            lost = [address for address in self._free if self.home(address) is None]
            known = sorted([*known, *((address, self.nodes[0].id) for address in lost)], key=self._pci)
        return {key: self.near(home) - self._taken for key, home in known}

    @property
    def _written(self) -> Mapping[int | None, RankPolicy]:
        """What is written out for ranks, for those without a word of their own where they are known to be there."""
        rank, size = self.process.rank.rank, self.process.rank.size
        every = {*self.policy.ranks, *(range(size or 0) if rank is not None else ())}
        written: dict[int | None, RankPolicy] = {one: self.policy.rank(one) for one in sorted(every)}
        return {**written, rank: self.policy.rank(rank)}

    @functools.cached_property
    def _free(self) -> list[str]:
        """Devices that are counted, without those whose ranks have their place written out."""
        seen = self.process.seen
        claimed = {
            seen[rank].address
            for rank, one in self._written.items()
            if rank is not None
            and rank < len(seen)
            and len(seen) > 1
            and (one.node is not None or one.cpus is not None)
        }
        return [address for address in self.counted if address not in claimed]

    def _pci(self, known: tuple[str, int]) -> int:
        order = [one.address for one in self.topology.devices]
        return order.index(known[0]) if known[0] in order else len(order)

    @functools.cached_property
    def shared_out(self) -> Mapping[str, CpuSet]:
        """Each seat's exclusive share."""
        return shares(self.topology, self.device_seats)

    @functools.cached_property
    def crowded(self) -> frozenset[str]:
        """Seats that share a core because there are more seats than cores."""
        return crowded(self.topology, self.device_seats)

    def beside(self, key: str) -> tuple[int, int]:
        """(position, number) of a seat among those that come from the same CPUs."""
        near = next((seat.near for seat in self.device_seats if seat.key == key), CpuSet())
        keys = [seat.key for seat in self.device_seats if seat.near == near]
        return (keys.index(key), len(keys)) if key in keys else (0, 1)

    def block(self, rank: int, size: int) -> tuple[list[int], int, int]:
        """Of a rank without a device: its nodes, its position among the ranks on them, and their number.

        Neighbouring ranks are on neighbouring nodes: 2 ranks on 6 nodes get three each, 8 ranks on 4 nodes share in
        pairs.
        """
        nodes = [node.id for node in self.nodes if self.near(node.id)]
        if not nodes:
            return [], rank, size
        if size <= len(nodes):
            return nodes[rank * len(nodes) // size : (rank + 1) * len(nodes) // size], 0, 1
        on = [one * len(nodes) // size for one in range(size)]
        first = on.index(on[rank])
        return [nodes[on[rank]]], rank - first, on.count(on[rank])


def computes(device: Device) -> bool:
    """Whether a rank could drive it: not a co-processor of class 0b40, as Intel's QuickAssist is."""
    return not device.class_.startswith("0b")
