"""The shapes as QEMU is told of them, and as the kernels of guests, numactl, hwloc and numatune see them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from lab.base import MATRIX
from lab.kernels import DEFAULT, SUITES
from lab.machine import Machine
from lab.shapes import NPS2, SHAPES, Shape
from lab.warm import machine

# Every shape, and every kernel in one; in the matrix every kernel in every shape.
HOSTS = [(shape, DEFAULT) for shape in SHAPES.values()] + [(NPS2, kernel) for kernel in SUITES if kernel != DEFAULT]
if MATRIX:
    HOSTS = list(itertools.product(SHAPES.values(), SUITES))
QUESTIONS = {
    "release": "uname -r",
    "numactl": "numactl --hardware",
    "possible": "cat /sys/devices/system/node/possible",
    "threads": "lscpu --parse=CPU,CORE,SOCKET,NODE",
    "devices": "cd /sys/bus/pci/devices; for device in *; do echo $device $(cat $device/class $device/numa_node); done",
    "tiers": "cd /sys/devices/virtual/memory_tiering; for tier in memory_tier*; do cat $tier/nodelist; done",
    "hwloc": "lstopo-no-graphics --of xml",
    "ours": "numatune topology --json",
}
MEBIBYTE = 1 << 20
MISSING = 128  # MiB of a node that the firmware and the kernel's own image may take
CLASSES = {"vmxnet3": "0x020000", "nvme": "0x010802", "virtio-gpu-pci": "0x038000", "secondary-vga": "0x038000"}


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
    spare = [] if shape.spare is None else [shape.spare]
    assert list(ports.values()) == [*(device.node for device in shape.devices), *spare]


def test_memory_and_distances_are_those_of_all_nodes(shape: Shape) -> None:
    count = len(shape.nodes)
    (size,) = given(shape, "-m")
    assert size.partition(",")[0] == f"{sum(node.mebibytes for node in shape.nodes)}M"
    assert len([word for word in given(shape, "-numa") if word.startswith("node,")]) == count
    assert len([word for word in given(shape, "-numa") if word.startswith("dist,")]) == count * (count - 1)


@pytest.fixture(scope="module", params=HOSTS, ids=lambda host: f"{host[0].name}-{host[1]}")
def host(request: pytest.FixtureRequest) -> Iterator[tuple[Shape, str, dict[str, str]]]:
    """A shape, the name of its kernel, and what a guest of that shape answers."""
    shape, kernel = request.param
    with machine(shape, kernel) as made:
        yield shape, kernel, answers(made)


def answers(made: Machine) -> dict[str, str]:
    told = made.batch(QUESTIONS)
    assert {name: answer.err for name, answer in told.items() if answer.code} == {}
    return {name: answer.out for name, answer in told.items()}


def listed(cpus: str) -> list[int]:
    """The numbers of a QEMU range."""
    first, _, last = cpus.partition("-")
    return list(range(int(first), int(last or first) + 1)) if cpus else []


def numactl(told: dict[str, str]) -> dict[int, tuple[list[int], int, list[int]]]:
    """Node -> CPUs, MiB, distances to the nodes in order; as numactl prints them."""
    text = told["numactl"]
    cpus = {int(node): [int(cpu) for cpu in row.split()] for node, row in re.findall(r"node (\d+) cpus:(.*)", text)}
    sizes = {int(node): int(size) for node, size in re.findall(r"node (\d+) size: (\d+) MB", text)}
    rows = {
        int(node): [int(word) for word in row.split()]
        for node, row in re.findall(r"^ +(\d+): +(.*)$", text, re.MULTILINE)
    }
    return {node: (cpus[node], sizes[node], rows[node]) for node in rows}


@pytest.mark.lab
def test_numactl_shows_the_nodes_of_the_shape(host: tuple[Shape, str, dict[str, str]]) -> None:
    shape, kernel, told = host
    assert re.match(r"7|8" if kernel == "newest" else re.escape(kernel), told["release"])
    real = {number: node for number, node in enumerate(shape.nodes) if node.cpus or node.mebibytes}
    shown = numactl(told)
    assert {number: cpus for number, (cpus, _, _) in shown.items()} == {
        number: listed(node.cpus) for number, node in real.items()
    }
    assert {number: row for number, (_, _, row) in shown.items()} == {
        number: [shape.distances[number][other] for other in real] for number in real
    }
    assert all(node.mebibytes - MISSING <= shown[number][1] <= node.mebibytes for number, node in real.items())
    assert listed(told["possible"].strip()) == list(range(len(shape.nodes)))
    cores = {tuple(row.split(",")[1:3]) for row in told["threads"].splitlines() if not row.startswith("#")}
    assert len(cores) == shape.cores


@pytest.mark.lab
def test_devices_are_on_their_nodes_and_one_is_on_none(host: tuple[Shape, str, dict[str, str]]) -> None:
    shape, _, told = host
    shown = {tuple(row.split()) for row in told["devices"].splitlines()}
    placed = {(shape.address(device), CLASSES[device.model], str(device.node)) for device in shape.devices}
    assert placed <= shown
    assert ("0000:00:08.0", "0x020000", "-1") in shown  # the way in, on the root bus


@pytest.mark.lab
def test_slow_memory_is_a_tier_of_its_own_where_the_kernel_reads_firmware_for_it(
    host: tuple[Shape, str, dict[str, str]],
) -> None:
    shape, kernel, told = host
    slow = [str(number) for number, node in enumerate(shape.nodes) if node.mebibytes and not node.cpus]
    tiers = told["tiers"].split()
    if slow and kernel != "6.1":
        assert len(tiers) > 1
        assert set(tiers) >= {f"0-{len(shape.reach) - 1}"}
    else:
        assert len(tiers) == 1


@pytest.mark.lab
def test_topology_is_what_numactl_and_hwloc_say(host: tuple[Shape, str, dict[str, str]]) -> None:
    _, _, told = host
    ours: dict[str, Any] = json.loads(told["ours"])
    mine = {
        node["id"]: (
            [cpu for part in node["cpus"].split(",") for cpu in listed(part)],
            node["memory_bytes"] // MEBIBYTE,
            list(node["distances"].values()),
        )
        for node in ours["nodes"]
    }
    assert mine == numactl(told)
    memory = re.findall(r'type="NUMANode" os_index="(\d+)".*?local_memory="(\d+)"', told["hwloc"])
    theirs = {int(node): int(size) for node, size in memory}
    assert {node["id"]: node["memory_bytes"] for node in ours["nodes"]} == theirs
