"""A tree is somebody else's data: whatever a file holds, there is a topology, and both views of it."""

from __future__ import annotations

import json

from fakes.trees import host_tree, memory
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.discover import discover
from numatune.host.memory import MemoryTree
from numatune.views import topology_json
from numatune.views.topology_text import topology

TREE = host_tree(
    nodes=[0, 3],
    threads=2,
    memory_only=[7],
    nics=1,
    nvmes=1,
    accelerators=[{"node": -1, "local_cpus": "0-1"}],
    tiers={4: "0,3"},
    cgroup="hybrid",
)
GARBAGE = st.sampled_from(
    [
        *("", "\n", "garbage\n", "-1\n", "-9\n", "0-\n", "3-1\n", "1 2 3\n", "0,,1\n", "0x10\n", "=\n", ":\n::\n"),
        *("99999999999999999999\n", "7" * 5000, "\0\0", "٣\n", "\udcff\n", "-> nowhere", "-> /", "-> ../../.."),
    ]
)
PATHS = st.sampled_from(sorted(TREE))


@settings(deadline=None)
@given(st.dictionaries(PATHS, GARBAGE | st.text(max_size=20) | st.none(), max_size=6))
def test_no_text_is_too_odd(changes: dict[str, str | None]):
    tree = {path: text for path, text in (TREE | changes).items() if text is not None}
    found = discover(memory(tree))
    assert json.loads(json.dumps(topology_json.topology(found)))["format"] == 1
    assert topology(found, everything=True, verbose=True).startswith("Host")
    assert all(device.resolved_node in {None, *(node.id for node in found.nodes)} for device in found.devices)


@settings(deadline=None)
@given(st.sampled_from(sorted({"/".join(path.split("/")[:depth]) for path in TREE for depth in range(2, 9)})))
def test_any_folder_may_be_missing(folder: str):
    found = discover(memory({path: text for path, text in TREE.items() if not path.startswith(f"{folder}/")}))
    assert topology(found, everything=True, verbose=True)


def test_an_empty_tree():
    found = discover(MemoryTree("nothing"))
    assert not found.nodes
    assert not found.cpus.online
    assert not found.numa
    assert "none: this kernel tells of no NUMA nodes" in topology(found)


def test_numbers_that_no_cpu_or_node_can_have_are_left_out():
    tree = memory(TREE)
    for path in ("node/node70000/cpulist", "cpu/cpu70000/online", "node/node0/cpu70000/online"):
        tree.put(f"/sys/devices/system/{path}", "0\n")
    for name in ("node/online", "cpu/online", "cpu/present", "cpu/possible", "node/node0/cpulist", "node/node0/cpumap"):
        tree.put(f"/sys/devices/system/{name}", "garbage\n")
    found = discover(tree)
    assert [node.id for node in found.nodes] == [0, 3, 7]
