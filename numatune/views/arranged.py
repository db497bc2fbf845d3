"""What lies where on a host, for views that draw it: every online CPU, every node and every device exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from numatune.cpus import CpuSet
from numatune.topology.model import Device, Node, Topology
from numatune.views.pci import Group, grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Cores that share an L3 within one place. `l3`: all CPUs of that cache, of other nodes too; None: not known."""

    cores: tuple[CpuSet, ...]
    package: int | None = None
    l3: CpuSet | None = None
    l3_each: bool = False  # every core has an L3 of its own

    @property
    def cpus(self) -> CpuSet:
        """Of all its cores."""
        return CpuSet.from_bits(sum(core.bits for core in self.cores))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node with all that is on it. `node` None: what is on no node that is known.

    elsewhere   CPUs that the node names and a node before it too: firmware errs, and they are drawn there
    """

    node: Node | None
    clusters: tuple[Cluster, ...] = ()
    groups: tuple[Group, ...] = ()
    elsewhere: CpuSet = field(default_factory=CpuSet)

    @property
    def cpus(self) -> CpuSet:
        """Those that are drawn here."""
        return CpuSet.from_bits(sum(cluster.cpus.bits for cluster in self.clusters))

    @property
    def devices(self) -> tuple[Device, ...]:
        """In the order of their groups."""
        return tuple(device for group in self.groups for device in group.devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Places that share packages, and memory without CPUs that is nearest to them. `packages` (): no id is known."""

    packages: tuple[int, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """A host. `frames` by their lowest node; `apart`: nodes without CPUs that are nearest to no one frame.

    lost     CPUs of no node
    unknown  devices of no known node
    """

    frames: tuple[Frame, ...]
    apart: tuple[Place, ...]
    lost: Place
    unknown: tuple[Group, ...]

    @property
    def places(self) -> tuple[Place, ...]:
        """Of all nodes, frame by frame."""
        return (*(place for frame in self.frames for place in frame.places), *self.apart)


def arranged(found: Topology, devices: Sequence[Device]) -> Arranged:
    """Where everything of a host lies. `devices`: those of it that are shown."""
    places = list(_places(found, devices))
    frames = _frames([place for place in places if place.clusters])
    near: dict[int, list[Place]] = {}
    apart: list[Place] = []
    for place in places:
        if place.clusters:
            continue
        nearest = _nearest(place, frames)
        (apart if nearest is None else near.setdefault(nearest, [])).append(place)
    known = {place.node.id for place in places if place.node}
    covered = CpuSet.from_bits(sum(place.cpus.bits for place in places))
    lost = found.cpus.online - covered
    return Arranged(
        frames=tuple(
            Frame(packages=frame.packages, places=(*frame.places, *near.get(number, ())))
            for number, frame in enumerate(frames)
        ),
        apart=tuple(apart),
        lost=Place(node=None, clusters=_clusters(lost, found)),
        unknown=grouped([device for device in devices if device.resolved_node not in known]),
    )


def _places(found: Topology, devices: Sequence[Device]) -> Iterable[Place]:
    seen = CpuSet()
    for node in found.nodes:
        own = node.cpus - seen
        yield Place(
            node=node,
            clusters=_clusters(own, found),
            groups=grouped([device for device in devices if device.resolved_node == node.id]),
            elsewhere=node.cpus & seen,
        )
        seen |= own


def _clusters(cpus: CpuSet, found: Topology) -> tuple[Cluster, ...]:
    """The cores of some CPUs by package and L3. Cores that each have their own L3 are one cluster."""
    group_of = {cpu: group for group in found.cpus.l3 for cpu in group}
    made: dict[tuple[int | None, CpuSet | None], list[CpuSet]] = {}
    rest = cpus
    for core in found.cpus.cores:
        part = core.cpus & rest
        if part:
            made.setdefault((core.package, group_of.get(part.first)), []).append(part)
            rest -= part
    for cpu in rest:
        made.setdefault((None, group_of.get(cpu)), []).append(CpuSet([cpu]))
    if len(made) > 1 and all(len(cores) == 1 for cores in made.values()):
        each = all(l3 is not None for _, l3 in made)
        return (Cluster(cores=tuple(core for cores in made.values() for core in cores), l3_each=each),)
    return tuple(Cluster(cores=tuple(cores), package=package, l3=l3) for (package, l3), cores in made.items())


def _frames(places: Sequence[Place]) -> list[Frame]:
    """Places that have a package in common, directly or by way of another place, are in one frame."""
    frames: list[Frame] = []
    for place in places:
        ids = _packages(place)
        joined = [frame for frame in frames if ids & set(frame.packages)]
        at = min((frames.index(frame) for frame in joined), default=len(frames))
        frames = [frame for frame in frames if frame not in joined]
        packages = sorted(ids.union(*(frame.packages for frame in joined)))
        inside = [*(one for frame in joined for one in frame.places), place]
        frames.insert(at, Frame(packages=tuple(packages), places=tuple(inside)))
    return frames


def _packages(place: Place) -> set[int]:
    return {cluster.package for cluster in place.clusters if cluster.package is not None}


def _cpus(frame: Frame) -> CpuSet:
    return CpuSet.from_bits(sum(place.cpus.bits for place in frame.places))


def _nearest(place: Place, frames: Sequence[Frame]) -> int | None:
    """Which frame memory without CPUs is nearest to: the one of its HMAT initiators, else by distance.

    A node that names CPUs which are drawn already goes where they are.
    """
    node = place.node
    if place.elsewhere:
        return next(number for number, frame in enumerate(frames) if _cpus(frame) & place.elsewhere)
    if node is None or node.kind != "memory-only":
        return None
    first = CpuSet(one for access in node.access if access.access_class == 0 for one in access.initiators)
    ids = [CpuSet(inner.node.id for inner in frame.places if inner.node) for frame in frames]
    near = [number for number, inside in enumerate(ids) if first & inside]
    if first:
        return near[0] if len(near) == 1 else None
    far = {number: _closest(node.distances, inside) for number, inside in enumerate(ids)}
    known = {number: distance for number, distance in far.items() if distance is not None}
    near = [number for number, distance in known.items() if distance == min(known.values())]
    return near[0] if len(near) == 1 else None


def _closest(distances: Mapping[int, int], nodes: CpuSet) -> int | None:
    return min((distances[node] for node in nodes if node in distances), default=None)
