"""The differ, whatever it is given; and which device stands for which."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.api.comparing import compare_readers
from numatune.topology.comparison import Entry, compare
from numatune.topology.model import Device, DeviceKind
from numatune.topology.pairing import labels, pairs

VALUE = st.none() | st.sampled_from(["0", "1", "madvise"])
ENTRIES = st.lists(
    st.builds(
        Entry,
        section=st.sampled_from(["nodes", "settings"]),
        of=st.sampled_from(["node 0", "node 1", ""]),
        name=st.sampled_from("abc"),
        value=VALUE,
        numbers=st.lists(st.integers(0, 200), max_size=2).map(tuple),
        slack=st.integers(0, 20),
        percent=st.integers(0, 10),
    ),
    unique_by=lambda entry: (entry.section, entry.of, entry.name),
)
KINDS: st.SearchStrategy[DeviceKind] = st.sampled_from(["nic", "accelerator", "other"])
DEVICES = st.lists(
    st.builds(
        Device,
        address=st.integers(0, 15).map(lambda bus: f"0000:{bus:02x}:00.0"),
        class_=st.just("0200"),
        kind=KINDS,
        vendor=st.sampled_from(["10de", "8086"]),
        device=st.just("0001"),
    ),
    unique_by=lambda device: device.address,
).map(lambda devices: sorted(devices, key=lambda device: device.address))


@given(ENTRIES)
def test_nothing_differs_from_itself(entries: list[Entry]) -> None:
    assert {row.state for row in compare(entries, entries)} <= {"same", "untold"}


@given(ENTRIES, ENTRIES)
def test_the_other_way_round_it_says_the_same(a: list[Entry], b: list[Entry]) -> None:
    there = {(row.section, row.of, row.name): (row.a, row.b, row.state) for row in compare(a, b)}
    back = {(row.section, row.of, row.name): (row.b, row.a, row.state) for row in compare(b, a)}
    assert there == back


@given(ENTRIES, ENTRIES)
def test_every_entry_is_in_one_row_and_sections_stay_together(a: list[Entry], b: list[Entry]) -> None:
    rows = compare(a, b)
    assert {(row.section, row.of, row.name) for row in rows} == {(e.section, e.of, e.name) for e in (*a, *b)}
    assert len(rows) == len({(row.section, row.of, row.name) for row in rows})
    together = [(row.section, row.of) for row in rows]
    assert len(set(together)) == 1 + sum(x != y for x, y in pairwise(together)) or not rows


@pytest.mark.parametrize(
    ("a", "b", "state"),
    [
        (("16.0 GiB", 17179869184), ("15.9 GiB", 17179869184 - (128 << 20)), "same"),
        (("16.0 GiB", 17179869184), ("15.8 GiB", 17179869184 - (128 << 20) - 1), "differs"),
        ((None, 0), ("16.0 GiB", 17179869184), "untold"),
    ],
)
def test_memory_counts_in_steps(a: tuple[str | None, int], b: tuple[str | None, int], state: str) -> None:
    sides = [
        [Entry(section="nodes", of="node 0", name="memory", value=value, numbers=(size,), slack=128 << 20)]
        for value, size in (a, b)
    ]
    assert [row.state for row in compare(*sides)] == [state]


@given(DEVICES, DEVICES)
def test_every_device_is_in_one_pair_with_one_of_its_model(a: list[Device], b: list[Device]) -> None:
    found = list(pairs(a, b))
    ours, theirs = ([device for pair in found if (device := pair[side])] for side in (0, 1))
    assert sorted(device.address for device in ours) == [device.address for device in a if device.kind != "other"]
    assert sorted(device.address for device in theirs) == [device.address for device in b if device.kind != "other"]
    both = [(one, two) for one, two in found if one and two]
    assert all((one.kind, one.vendor, one.device) == (two.kind, two.vendor, two.device) for one, two in both)
    assert {frozenset((one.address, two.address)) for one, two in both} == {
        frozenset((one.address, two.address)) for one, two in pairs(b, a) if one and two
    }
    named = labels(found)
    assert all(named[0][one.address] == named[1][two.address] for one, two in both)


@settings(max_examples=25, deadline=None)
@given(
    nodes=st.integers(1, 3),
    nics=st.integers(0, 2),
    accelerators=st.integers(0, 2),
    swappiness=st.sampled_from([None, "60", "10"]),
    cgroup=st.sampled_from(["v1", "v2"]),
)
def test_a_host_is_equal_to_itself_and_unequal_to_one_with_a_node_more(
    nodes: int, nics: int, accelerators: int, swappiness: str | None, cgroup: str
) -> None:
    shape: dict[str, Any] = {
        "nics": nics,
        "accelerators": accelerators,
        "sysctl": {"vm.swappiness": swappiness},
        "cgroup": cgroup,
    }
    host, more = (FakeKernel(host_tree(nodes=count, **shape)) for count in (nodes, nodes + 1))
    assert {row.state for row in compare_readers(host, host)} <= {"same", "untold"}
    assert any(row.section == "nodes" and row.state == "differs" for row in compare_readers(host, more))
