"""What must hold of the layout of any host: nothing overlaps, nothing sticks out, everything is there once."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from fakes.topologies import topology, viewed
from fakes.trees import host_tree, memory

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.topology.model import Topology
from numatune.views.picture.boxes import Box, Label, Placed, walk
from numatune.views.picture.page import page

Area = tuple[int, int, int, int]
"""Left, top, right, bottom."""
HOSTS = {
    **{f"chance {seed}": topology(seed) for seed in range(40)},
    **viewed(),
    "thirty-six nodes with CPUs": discover(memory(host_tree(nodes=36, cpus_per_node=2))),
}
each_host = pytest.mark.parametrize("found", HOSTS.values(), ids=HOSTS)


def area(placed: Placed) -> Area:
    return placed.x, placed.y, placed.right, placed.below


def text_area(label: Label) -> Area:
    return label.x, label.y - label.size, label.x + label.width, label.y + 1


def overlap(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(one: Area, box: Box) -> bool:
    return one[0] >= 0 and one[1] >= 0 and one[2] <= box.width and one[3] <= box.height


def faults(whole: Box) -> list[str]:
    """What overlaps or sticks out; texts count as wide as the widest font makes them."""
    found = []
    for box in (placed.box for placed in walk(whole)):
        name = f"{box.kind} {box.key}"
        texts = [text_area(label) for label in box.labels]
        areas = [area(child) for child in box.children]
        found += [f"{name}: {label.text} sticks out" for label in box.labels if not inside(text_area(label), box)]
        found += [f"{name}: {child.box.kind} sticks out" for child in box.children if not inside(area(child), box)]
        found += [f"{name}: texts on each other" for pair in itertools.combinations(texts, 2) if overlap(*pair)]
        found += [f"{name}: boxes on each other" for pair in itertools.combinations(areas, 2) if overlap(*pair)]
        if box.kind.partition(" ")[0] not in {"cpu", "entry"}:  # a bar is under a number
            found += [f"{name}: box on text" for pair in itertools.product(texts, areas) if overlap(*pair)]
    return found


def keys(whole: Box, kind: str) -> Counter[str]:
    """How often each of a kind is there."""
    boxes = (placed.box for placed in walk(whole))
    return Counter(box.key for box in boxes if box.kind.partition(" ")[0] == kind and box.key)


def drawn_nodes(whole: Box) -> Counter[int]:
    """Of ids; those that are alike stand for all of them."""
    found: Counter[int] = Counter()
    for key, count in keys(whole, "node").items():
        found.update(dict.fromkeys(CpuSet.parse(key), count) if key != "none" else {})
    return found


@each_host
def test_nothing_overlaps_and_nothing_sticks_out(found: Topology):
    assert not faults(page(found, everything=True))


@each_host
def test_everything_is_drawn_once(found: Topology):
    whole = page(found, everything=True)
    assert keys(whole, "cpu") == Counter(map(str, found.cpus.online))
    assert drawn_nodes(whole) == Counter(node.id for node in found.nodes)
    assert keys(whole, "device") == Counter(device.address for device in found.devices)


@each_host
def test_devices_are_on_their_node_and_those_of_none_apart(found: Topology):
    whole = page(found, everything=True)
    where = {
        key: f"{box.kind.partition(' ')[0]} {box.key}".strip()
        for box in (placed.box for placed in walk(whole))
        if box.kind.partition(" ")[0] in {"node", "unknown"}
        for key in keys(box, "device")
    }
    known = {node.id for node in found.nodes}
    assert where == {
        device.address: f"node {device.resolved_node}" if device.resolved_node in known else "unknown"
        for device in found.devices
    }


@each_host
def test_other_devices_are_left_out_unless_all_are_asked_for(found: Topology):
    shown = {device.address for device in found.devices if device.kind != "other"}
    assert set(keys(page(found), "device")) == shown


def test_the_largest_are_among_them():
    """The sizes that the picture is made for."""
    assert max(len(found.nodes) for found in HOSTS.values()) >= 36
    assert max(len(found.cpus.online) for found in HOSTS.values()) >= 384
    assert max(sum(one.kind == "accelerator" for one in found.devices) for found in HOSTS.values()) >= 16
