"""The shapes as QEMU is told of them; no machine is started."""

from __future__ import annotations

import itertools

import pytest

from lab.shapes import SHAPES, Shape


@pytest.fixture(params=SHAPES.values(), ids=list(SHAPES))
def shape(request: pytest.FixtureRequest) -> Shape:
    found: Shape = request.param
    return found


def given(shape: Shape, option: str) -> list[str]:
    words = shape.arguments()
    return [value for word, value in itertools.pairwise(words) if word == option]


def test_every_device_names_its_bus(shape: Shape) -> None:
    assert all("bus=" in device for device in given(shape, "-device"))
    assert all("bus" in plug for plug in shape.plugs())


def test_devices_are_below_the_bridge_of_their_node(shape: Shape) -> None:
    bridges = {
        words["id"]: int(words["numa_node"])
        for words in (dict(word.split("=") for word in device.split(",")[1:]) for device in given(shape, "-device"))
        if "numa_node" in words
    }
    ports = {
        words["id"]: bridges[words["bus"]]
        for words in (dict(word.split("=") for word in device.split(",")[1:]) for device in given(shape, "-device"))
        if words["bus"] in bridges
    }
    assert list(ports.values()) == [device.node for device in shape.devices]


def test_memory_and_distances_are_those_of_all_nodes(shape: Shape) -> None:
    count = len(shape.nodes)
    assert given(shape, "-m") == [f"{sum(node.mebibytes for node in shape.nodes)}M"]
    assert len([word for word in given(shape, "-numa") if word.startswith("node,")]) == count
    assert len([word for word in given(shape, "-numa") if word.startswith("dist,")]) == count * (count - 1)
