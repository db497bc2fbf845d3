"""What is on which node, as lines: its caches, its devices by the switch that they share, and their interrupts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from numatune.topology.model import Device, DeviceKind, Topology
from numatune.views.arranged import Place, arranged
from numatune.views.columns import wrapped
from numatune.views.pci import KINDS, Group
from numatune.views.served import served
from numatune.views.sets import short
from numatune.views.style import Style

_NAMES: dict[DeviceKind, str] = {
    "accelerator": "accelerators",
    "nic": "network",
    "infiniband": "InfiniBand",
    "nvme": "NVMe",
    "other": "other PCI",
}
_TITLE, _FEW = 12, 4


def places(found: Topology, devices: Sequence[Device], style: Style) -> list[str]:
    """Lines of each node that has several caches or devices, then of what is on no node. `devices`: those shown."""
    where = arranged(found, devices)
    told = [(f"node {place.node.id}", _told(place, found)) for place in where.places if place.node]
    told.append(("no node", [("CPUs", [str(where.lost.cpus)])] if where.lost.clusters and found.nodes else []))
    told.append(("unknown", list(_devices(where.unknown))))
    head = max((len(name) for name, lines in told if lines), default=0)
    lines = [line for name, some in told for line in _titled(f"  {name:{head}}", some, style)]
    return [style.paint("On the nodes", "bold"), *lines] if lines else []


def packages(found: Topology) -> dict[int, str]:
    """Of each node that has CPUs the packages that they are in, by the node's id."""
    made = {}
    for node in found.nodes:
        ids = [package for package, cpus in found.cpus.packages.items() if cpus & node.cpus]
        made[node.id] = ",".join(map(str, sorted(ids))) if len(ids) <= _FEW else f"{len(ids)} of them"
    return made


def _told(place: Place, found: Topology) -> list[tuple[str, list[str]]]:
    told = list(_caches(place))
    if place.elsewhere:
        told.append(("also named", [f"{place.elsewhere}, CPUs of a lower node"]))
    return [*told, *_devices(place.groups), *_interrupts(place, found)]


def _caches(place: Place) -> Iterator[tuple[str, list[str]]]:
    """The CPUs of each L3; of the only one of a node that it is one."""
    known = [cluster for cluster in place.clusters if cluster.l3 is not None]
    if any(cluster.l3_each for cluster in place.clusters):
        yield "L3", ["each core its own"]
    elif len(known) == 1 and known[0].cpus == place.cpus:
        if known[0].l3 != place.cpus:
            yield "L3", ["one, with other nodes"]
    elif known:
        yield "L3", [" | ".join(short(cluster.cpus) for cluster in known)]


def _devices(groups: Sequence[Group]) -> Iterator[tuple[str, list[str]]]:
    """By kind those that share no bridge; then of each shared bridge all that is below it."""
    for kind in KINDS:
        alone = [_name(one) for group in groups if not group.bridge for one in group.devices if one.kind == kind]
        if alone:
            yield _NAMES[kind], alone
    for group in groups:
        if group.bridge:
            yield "one switch" if group.switch else "one bridge", [_name(one) for one in group.devices]


def _interrupts(place: Place, found: Topology) -> Iterator[tuple[str, list[str]]]:
    told = [served(found, device) for device in place.devices]
    count = sum(one.count for one in told)
    if count:
        away = sum((Counter(one.away) for one in told), Counter[int]())
        yield "interrupts", [str(count), *(f"{some} on node {node}" for node, some in sorted(away.items()))]


def _name(device: Device) -> str:
    return " ".join(device.names) or device.address


def _titled(head: str, told: Sequence[tuple[str, list[str]]], style: Style) -> list[str]:
    """Lines of a place: its name once, then a word and what is told, wrapped at blanks and commas."""
    room = len(head) + 2
    lines: list[str] = []
    for title, pieces in told:
        first, *rest = wrapped(style.spell(", ".join(pieces)), style.width - room - _TITLE - 2)
        name = "" if lines else head
        lines.append(f"{name:{room}}{style.paint(f'{title:{_TITLE}}', 'dim')}  {first}")
        lines += [" " * (room + _TITLE + 2) + line for line in rest]
    return lines
