"""Nodes: memory, cores, devices; nodes without CPUs smaller; empty ones together."""

from __future__ import annotations

from numatune.topology.model import Access, Node
from numatune.views.arranged import Place
from numatune.views.folding import Run, label
from numatune.views.picture.boxes import Box, Label, Placed
from numatune.views.picture.cores import clusters
from numatune.views.picture.devices import groups
from numatune.views.picture.facts import Facts
from numatune.views.picture.flow import Block, stack
from numatune.views.picture.frames import Line, framed
from numatune.views.picture.measure import fitting, folded, text_width
from numatune.views.sets import short
from numatune.views.sizes import memory, page
from numatune.views.style import plural

PAD = 10
NARROWEST = 180
"""Of what is in a node."""
_TEXT, _BAR = 15, 12


def content(place: Place, facts: Facts, room: int) -> Block:
    """The cores and devices of a place, in rows that are at most `room` wide unless one box alone is wider."""
    several = len({cluster.package for cluster in place.clusters}) > 1
    return stack(
        [clusters(place.clusters, facts, room, packages=several), groups(place.groups, facts, room)],
        PAD,
    )


def node(place: Place, facts: Facts, body: Block, width: int) -> Box:
    """A node around its content, `width` wide inside."""
    held = place.node
    if held is None:
        title = "no node" if facts.found.nodes else "whole host"
        lines: list[Line] = [(title, "title", 13), *_folded(f"CPUs {place.cpus}", "faint", width)]
        return framed(Box(kind="node none", key="none", width=width + 2 * PAD), lines, body, pad=PAD)
    whole = stack([_memory(held, facts, width), body], PAD)
    lines = _lines(place, held, facts, width)
    tip = [f"node {held.id}, {held.kind}", f"CPUs {held.cpus}" if held.cpus else "", *map(_access, held.access)]
    told = "\n".join(line for line in tip if line)
    box = Box(kind=f"node {held.kind}", key=str(held.id), tip=told, width=width + 2 * PAD)
    return framed(box, lines, whole, pad=PAD)


def empty(run: Run) -> Box:
    """Nodes of consecutive ids that have nothing."""
    name = f"node {label(run)}" if len(run) == 1 else f"nodes {label(run)}"
    lines: list[Line] = [(name, "title", 12), ("empty", "faint", 10)]
    return framed(Box(kind="node empty", key=label(run), tip="neither CPUs nor memory"), lines, Block(), pad=PAD)


def _lines(place: Place, held: Node, facts: Facts, width: int) -> list[Line]:
    lines: list[Line] = [(f"node {held.id}", "title", 13)]
    if held.kind != "cpu+mem":
        lines.append((held.kind, "mark", 10))
    if held.cpus:
        lines.append((_cpus(held, width), "faint", 10))
    if place.elsewhere:
        lines += _folded(f"firmware gives CPUs {place.elsewhere} to a lower node too", "warning", width)
    if held.tier is not None:
        lines.append((f"memory tier {held.tier}", "faint", 10))
    for access in held.access:
        if access.access_class == 0:
            lines += _folded(_reads(access), "faint", width)
    pools = [f"{page(size)} pages: {pool.total}" for size, pool in sorted(held.hugepages.items()) if pool.total]
    lines += _folded(", ".join(pools), "faint", width)
    count = facts.by_node.get(held.id, 0)
    if count and held.cpus:
        lines += _folded(f"serves {plural(count, 'device interrupt')}", "faint", width)
    return lines


def _cpus(held: Node, width: int) -> str:
    """How many, and which, where that is short: all are drawn."""
    count = plural(len(held.cpus), "CPU")
    whole = f"{count}: {short(held.cpus)}"
    return whole if text_width(whole, 10) <= width else count


def _folded(text: str, kind: str, width: int) -> list[Line]:
    return [(line, kind, 10) for line in folded(text, fitting(width, 10))]


def _memory(held: Node, facts: Facts, width: int) -> Block:
    """How much there is, as a bar as long as its share of the largest node, filled as far as it is used."""
    if held.memory_bytes == 0:
        return Block()
    text = "memory not told" if held.memory_bytes is None else memory(held.memory_bytes)
    if held.memory_bytes is not None and held.free_bytes is not None:
        text += f", {memory(held.free_bytes)} free"
    label = Label(x=0, y=10, text=text, size=10)
    bar: tuple[Placed, ...] = ()
    if held.memory_bytes:
        long = max(width * held.memory_bytes // facts.largest, 2)
        bar = (Placed(0, _TEXT, _bar(held.memory_bytes, held.free_bytes, long)),)
    height = _TEXT + _BAR if bar else _TEXT
    box = Box(kind="memory", key=str(held.id), width=width, height=height, labels=(label,), children=bar)
    return Block((Placed(0, 0, box),), box.width, box.height)


def _bar(size: int, free: int | None, long: int) -> Box:
    if free is None:
        return Box(kind="room unknown", width=long, height=_BAR)
    used = min(max(long * (size - free) // size, 0), long)
    inside = (Placed(0, 0, Box(kind="used", width=used, height=_BAR)),) if used else ()
    tip = f"{100 * (size - free) // size} % used"
    return Box(kind="room", width=long, height=_BAR, tip=tip, children=inside)


def _reads(access: Access) -> str:
    """HMAT: how the memory is reached from the nearest initiators."""
    told = [_figure(access.read_latency, "ns"), _figure(access.read_bandwidth, "MiB/s")]
    return f"read from node {access.initiators}: {', '.join(filter(None, told)) or '?'}"


def _access(access: Access) -> str:
    """All that HMAT tells of one class."""
    told = [
        f"{name} {figure}"
        for name, figure in (
            ("read", _figure(access.read_latency, "ns")),
            ("write", _figure(access.write_latency, "ns")),
            ("read", _figure(access.read_bandwidth, "MiB/s")),
            ("write", _figure(access.write_bandwidth, "MiB/s")),
        )
        if figure
    ]
    return ", ".join([f"from node {access.initiators}{' (CPUs)' if access.access_class else ''}", *told])


def _figure(value: int | None, unit: str) -> str:
    return "" if value is None else f"{value} {unit}"
