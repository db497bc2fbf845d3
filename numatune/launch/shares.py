"""Splitting CPUs between those who need them: disjoint, SMT siblings together, the same whoever computes it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.topology.model import Topology


@dataclass(frozen=True, slots=True)
class Seat:
    """Somebody who needs CPUs: a device by its address, or ``rank 3``. `near`: where they should come from."""

    key: str
    near: CpuSet


def cores_in(topology: Topology, cpus: CpuSet) -> list[CpuSet]:
    """The cores of a set of CPUs, each with those of its siblings that are in the set.

    By last-level cache, then by CPU, so that neighbours share a cache whatever the numbering. CPUs that the host tells
    no core of are cores of their own.
    """
    wanted, known = cpus.bits, 0
    parts = [part for core in topology.cpus.cores if (part := core.cpus.bits & wanted)]
    for part in parts:
        known |= part
    parts += [1 << cpu for cpu in CpuSet.from_bits(wanted & ~known)]
    caches = [group.bits for group in topology.cpus.l3]

    def order(part: int) -> tuple[int, int]:
        first = part & -part
        return next((place for place, group in enumerate(caches) if group & first), len(caches)), first

    return [CpuSet.from_bits(part) for part in sorted(parts, key=order)]


def union(sets: Iterable[CpuSet]) -> CpuSet:
    """All of them as one."""
    bits = 0
    for each in sets:
        bits |= each.bits
    return CpuSet.from_bits(bits)


def split(cores: Sequence[CpuSet], count: int) -> list[CpuSet]:
    """`count` shares of the cores, in their order; the first ones get one core more.

    With fewer cores than shares, several shares are the same core: the caller says so.
    """
    if len(cores) < count:
        return [cores[place % len(cores)] if cores else CpuSet() for place in range(count)]
    base, extra = divmod(len(cores), count)
    shares = []
    start = 0
    for place in range(count):
        end = start + base + (place < extra)
        shares.append(union(cores[start:end]))
        start = end
    return shares


def shares(topology: Topology, seats: Sequence[Seat]) -> Mapping[str, CpuSet]:
    """Each seat's share of what it is near to. Seats whose sets overlap split the union of them, in their order."""
    made: dict[str, CpuSet] = {}
    for group in _groups(seats):
        pool = cores_in(topology, union(seat.near for seat in group))
        made |= dict(zip((seat.key for seat in group), split(pool, len(group)), strict=True))
    return made


def crowded(topology: Topology, seats: Sequence[Seat]) -> frozenset[str]:
    """Seats of groups that have fewer cores than seats, so that shares overlap."""
    return frozenset(
        seat.key
        for group in _groups(seats)
        if len(cores_in(topology, union(each.near for each in group))) < len(group)
        for seat in group
    )


def _groups(seats: Sequence[Seat]) -> list[list[Seat]]:
    """Seats that meet somewhere, directly or over others; the order of the seats is kept in each."""
    groups: list[tuple[CpuSet, list[int]]] = []
    for place, seat in enumerate(seats):
        near, members = seat.near, [place]
        apart = []
        for other, others in groups:
            if other & near:
                near, members = near | other, members + others
            else:
                apart.append((other, others))
        groups = [*apart, (near, members)]
    return [[seats[place] for place in sorted(members)] for _, members in groups]
