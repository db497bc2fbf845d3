from __future__ import annotations

import pytest
from fakes.trees import host_tree, memory
from hypothesis import given
from hypothesis import strategies as st

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.topology.model import Device, Interrupt, Node, Topology
from numatune.topology.resolve import canonical, misplaced, resolve, with_names, with_overrides

NODES = (
    Node(id=0, cpus=CpuSet.parse("0-3"), kind="cpu+mem"),
    Node(id=8, cpus=CpuSet.parse("4-7"), kind="cpu+mem"),
    Node(id=250, cpus=CpuSet(), kind="memory-only"),
)
ONLINE = CpuSet.parse("0-7")
NODE_OR_NONE = st.sampled_from([None, 0, 3, 8, 250])
LOCAL = st.none() | st.frozensets(st.integers(0, 9)).map(CpuSet)


def device(address: str = "0000:41:00.0", **more: object) -> Device:
    return Device(address=address, class_="0302", kind="accelerator", **more)  # type: ignore[arg-type]  # fields by name


def resolved(*devices: Device, overrides: dict[str, int] | None = None) -> tuple[int | None, str]:
    found = resolve(devices, NODES, ONLINE, overrides)[0]
    return found.resolved_node, found.resolved_by


@pytest.fixture
def topology() -> Topology:
    return discover(memory(host_tree(nodes=[0, 8], accelerators=[{"node": -1, "bridge_node": -1}, {"node": 8}])))


def test_the_first_that_answers_counts():
    bridge = device("0000:40:00.0", node=0)
    full = device(node=8, parents=("0000:40:00.0",), local_cpus=CpuSet([1]))
    without = device(parents=("0000:40:00.0",), local_cpus=CpuSet([5]))
    assert resolved(full, bridge, overrides={"0000:41:00.0": 250}) == (250, "override")
    assert resolved(full, bridge) == (8, "numa_node")
    assert resolved(without, bridge) == (0, "parent")
    assert resolved(without) == (8, "local_cpus")
    assert resolved(device()) == (None, "unknown")


def test_the_nearest_bridge_that_knows_counts():
    near, far = device("0000:40:00.0"), device("0000:3f:00.0", node=8)
    top = device("0000:3e:00.0", node=0)
    below = device(parents=("0000:40:00.0", "0000:3f:00.0", "0000:3e:00.0"))
    assert resolved(below, near, far, top) == (8, "parent")


def test_node_0_is_an_answer_like_any_other():
    assert resolved(device(node=0)) == (0, "numa_node")
    assert resolved(device(), overrides={"0000:41:00.0": 0}) == (0, "override")


@given(NODE_OR_NONE, NODE_OR_NONE, LOCAL, st.none() | st.sampled_from([0, 3, 8, 250]))
def test_an_answer_is_a_node_of_this_host_and_no_answer_is_null(
    own: int | None, above: int | None, local: CpuSet | None, told: int | None
):
    overrides = {} if told is None else {"0000:41:00.0": told}
    node, by = resolved(
        device(node=own, parents=("0000:40:00.0",), local_cpus=local),
        device("0000:40:00.0", node=above),
        overrides=overrides,
    )
    assert node in {0, 8, 250, None}
    assert (node is None) == (by == "unknown")
    if by == "local_cpus":
        assert local is not None
        assert set() < set(local & ONLINE) < set(ONLINE)


@pytest.mark.parametrize(
    "spelling", ["0000:41:00.0", "00000000:41:00.0", "0000:41:00.0\n", "41:00.0", "0:41:00.0", "0000:41:00.0 "]
)
def test_addresses_in_the_spellings_of_other_tools(spelling: str):
    assert canonical(spelling) == "0000:41:00.0"


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [("00000009:0A:1F.7", "0009:0a:1f.7"), ("10000:01:00.0", "10000:01:00.0"), ("00010000:01:00.0", "10000:01:00.0")],
)
def test_domains_that_are_not_zero(spelling: str, expected: str):
    assert canonical(spelling) == expected


def test_an_override_moves_one_device_and_keeps_what_the_kernel_says(topology: Topology):
    moved = with_overrides(topology, {"00000000:41:00.0": 8})
    found = {device.address: device for device in moved.devices}
    assert (found["0000:41:00.0"].resolved_node, found["0000:41:00.0"].resolved_by) == (8, "override")
    assert found["0000:41:00.0"].node is None
    assert found["0000:42:00.0"].resolved_by == "numa_node"
    assert with_overrides(moved, {}) == topology


def test_an_override_of_a_bridge_is_not_handed_down(topology: Topology):
    moved = with_overrides(topology, {"0000:00:01.2": 8})
    assert next(d for d in moved.devices if d.address == "0000:41:00.0").resolved_by == "unknown"


def test_overrides_that_this_host_has_no_place_for(topology: Topology):
    overrides = {"0000:41:00.0": 3, "0000:99:00.0": 0, "0000:42:00.0": 0}
    assert misplaced(topology, overrides) == (
        ("0000:41:00.0", "no node 3 here; there are 0,8"),
        ("0000:99:00.0", "no device 0000:99:00.0 here"),
    )
    assert with_overrides(topology, {"0000:41:00.0": 3, "0000:99:00.0": 0}) == topology


def test_an_interrupt_without_a_name_keeps_the_one_that_is_known():
    found = (
        Interrupt(number=40, device="0000:41:00.0", index=0),
        Interrupt(number=41, device="0000:41:00.0", index=1, name="eth0-rx-1"),
        Interrupt(number=42, device="0000:42:00.0", index=0),
    )
    known = {("0000:41:00.0", 0): "eth0-rx-0", ("0000:41:00.0", 1): "an older name"}
    named = with_names(Topology(sections=frozenset(), interrupts=found), known)
    assert [one.name for one in named.interrupts] == ["eth0-rx-0", "eth0-rx-1", ""]
