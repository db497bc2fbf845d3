"""What is on a page: packages with their nodes, and apart from them what belongs to no package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numatune.cpus import LIMIT, CpuSet
from numatune.views.arranged import Frame, Place
from numatune.views.folding import same_nodes
from numatune.views.picture.boxes import Box
from numatune.views.picture.devices import groups
from numatune.views.picture.facts import Facts
from numatune.views.picture.flow import Block, rows, stack
from numatune.views.picture.frames import Line, framed
from numatune.views.picture.measure import folded
from numatune.views.picture.nodes import NARROWEST, PAD, content, empty, node


def packages(known: Facts, width: int, room: int) -> list[Box]:
    """Packages with their nodes, all nodes equally wide: inside as their contents are, which may take `room`."""
    bodies = [[content(place, known, room) for place in frame.places] for frame in known.arranged.frames]
    inner = max((body.width for some in bodies for body in some), default=0)
    made = []
    for frame, some in zip(known.arranged.frames, bodies, strict=True):
        boxes = [
            node(place, known, body, max(inner, NARROWEST)) for place, body in zip(frame.places, some, strict=True)
        ]
        inside = rows(boxes, width - 4 * PAD, PAD, even="node")
        made.append(framed(Box(kind="package", key=_ids(frame)), _title(frame), inside, pad=PAD))
    return made


def _title(frame: Frame) -> list[Line]:
    if not frame.packages:
        return []
    name = "package" if len(frame.packages) == 1 else "packages"
    return [(line, "title", 12) for line in folded(f"{name} {_ids(frame)}", 30)]


def _ids(frame: Frame) -> str:
    """``0-3``. Some firmware numbers its packages higher than a set of nodes goes."""
    ids = frame.packages
    return str(CpuSet(ids)) if all(one < LIMIT for one in ids) else ",".join(map(str, ids))


def apart(known: Facts, width: int, room: int) -> Iterator[Box]:
    """What belongs to no package: CPUs of no node, nodes without CPUs, devices of no known node."""
    lost = known.arranged.lost
    if lost.clusters:
        body = content(lost, known, room)
        yield node(lost, known, body, max(body.width, NARROWEST))
    bare = [place for place in known.arranged.apart if place.node]
    if bare:
        yield framed(Box(kind="apart"), [("nodes without CPUs", "title", 12)], _bare(bare, known, width, room), pad=PAD)
    if known.arranged.unknown:
        cards = groups(known.arranged.unknown, known, width - 2 * PAD)
        yield framed(Box(kind="unknown"), [("devices of no known node", "title", 12)], cards, pad=PAD)


def _bare(places: Sequence[Place], known: Facts, width: int, room: int) -> Block:
    """Nodes with memory or devices, then the empty ones, those of consecutive ids together."""
    full = [place for place in places if place.groups or (place.node and place.node.kind != "empty")]
    bodies = [content(place, known, room) for place in full]
    inner = max((body.width for body in bodies), default=0)
    boxes = [node(place, known, body, max(inner, NARROWEST)) for place, body in zip(full, bodies, strict=True)]
    runs = same_nodes(place.node for place in places if place.node and place not in full)
    tiles = [empty(run) for run in runs]
    return stack([rows(boxes, width - 2 * PAD, PAD, even="node"), rows(tiles, width - 2 * PAD, PAD)], PAD)
