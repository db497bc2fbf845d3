from __future__ import annotations

import re
from typing import Any

import pytest
from fakes.trees import Tree, host_tree, memory

from numatune.discover import discover, fingerprint
from numatune.discover.interrupts import Row, table
from numatune.topology.model import Section

GIB = 1 << 30


def test_only_the_sections_asked_for_are_looked_at():
    found = discover(memory(host_tree(nics=1)), {Section.THP})
    assert found.sections == {Section.MACHINE, Section.CPUS, Section.THP}
    assert found.cpus.online
    assert found.thp.present
    assert not found.nodes
    assert not found.devices
    assert found.cgroups.mode == "none"


def test_devices_bring_nodes_and_interrupts_bring_devices():
    found = discover(memory(host_tree(nics=1)), {Section.INTERRUPTS})
    assert {Section.NODES, Section.DEVICES} <= found.sections
    assert found.interrupts
    assert found.devices[-1].resolved_node == 0


def test_interrupts_of_one_device_come_by_index():
    tree = host_tree(nics=[{"vectors": 3}])
    for number, index in ((24, 2), (25, 0), (26, 1)):
        tree[f"/sys/kernel/irq/{number}/hwirq"] = f"{index}\n"
    found = discover(memory(tree))
    assert [(irq.index, irq.number) for irq in found.interrupts_of("0000:41:00.0")] == [(0, 25), (1, 26), (2, 24)]


def test_devices_sort_by_address_as_a_number():
    addresses = ("10000:01:00.0", "0000:e1:00.0", "0000:17:00.0", "0009:01:00.0")
    found = discover(memory(host_tree(nvmes=[{"address": address} for address in addresses])))
    nvmes = [device.address for device in found.devices if device.kind == "nvme"]
    assert nvmes == ["0000:17:00.0", "0000:e1:00.0", "0009:01:00.0", "10000:01:00.0"]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (" 24: 1 2 PCI-MSIX-0000:41:00.0 3-edge ice-eth0-TxRx-2", Row("PCI-MSIX-0000:41:00.0", 3, "ice-eth0-TxRx-2")),
        (" 24: 1 2 IR-PCI-MSI 1048576-edge eth0", Row("IR-PCI-MSI", 1048576, "eth0")),
        (" 24: 1 2 ITS-MSI 524288 Edge nvme0q0", Row("ITS-MSI", 524288, "nvme0q0")),
        (" 24: 1 2 XICS 16 Level", Row("XICS", 16, "")),
        (" 24: 1 2 IO-APIC 9-fasteoi acpi, other one", Row("IO-APIC", 9, "acpi, other one")),
        (" 24: 1 2 dummy", Row("dummy", None, "")),
        (" 24: 1 2", None),
        ("NMI: 1 2 Non-maskable interrupts", None),
        ("ERR: 0", None),
    ],
)
def test_rows_of_proc_interrupts(line: str, row: Row | None):
    assert table(f"      CPU0  CPU1\n{line}\n").get(24) == row


@pytest.mark.parametrize("held", ["", "\n", "garbage\nmore garbage: x"])
def test_a_table_that_is_none(held: str):
    assert table(held) == {}


def told(**shape: Any) -> str:
    return fingerprint(memory(host_tree(**{"nodes": 2, "nics": 1, **shape})))


def changed(changes: dict[str, str | None]) -> str:
    tree = Tree(host_tree(nodes=2, nics=1))
    for path, text in changes.items():
        if text is None:
            del tree[path]
        else:
            tree[path] = text
    return fingerprint(memory(tree))


@pytest.mark.parametrize("sections", range(0, 128, 9))
def test_memory_that_is_still_counted_in_changes_nothing_of_a_host_with_one_node(sections: int):
    """By sections of 128 MiB, where the kernel initialises it late."""
    whole = host_tree(nodes=1, nics=1)
    (size,) = re.findall(r"MemTotal: *(\d+) kB", whole["/proc/meminfo"])
    so_far = f"Node 0 MemTotal: {int(size) - sections * (128 << 10)} kB\nNode 0 MemFree: 1 kB\n"
    node = "/sys/devices/system/node/node0/meminfo"
    assert discover(memory(Tree(whole | {node: so_far}))).nodes[0].memory_bytes == int(size) << 10
    assert fingerprint(memory(Tree(whole | {node: so_far}))) == fingerprint(memory(whole))


def test_the_same_host_has_the_same_fingerprint_in_the_topology_too():
    tree = memory(host_tree(nodes=2, nics=1))
    assert told() == told() == discover(tree).fingerprint
    assert len(told()) == 32


@pytest.mark.parametrize(
    "shape",
    [
        {"nodes": 3},
        {"nodes": [0, 2]},
        {"cpus_per_node": 2},
        {"offline": "3"},
        {"memory_per_node": 17 * GIB},
        {"nics": 2},
        {"nics": [{"vectors": 6}]},
        {"nics": [{"name": "eth9"}]},
        {"nics": [{"tx": 5}]},
        {"kernel": "6.12.1"},
        {"cgroup": "hybrid"},
    ],
    ids=str,
)
def test_what_values_hang_on_changes_the_fingerprint(shape: dict[str, Any]):
    assert told(**shape) != told()


@pytest.mark.parametrize(
    "changes",
    [
        {"/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 16800000 kB\nNode 0 MemFree: 1 kB\n"},
        {"/proc/sys/vm/swappiness": "10\n"},
        {"/proc/irq/24/smp_affinity_list": "1\n"},
        {"/proc/sys/kernel/random/boot_id": "another\n"},
        {"/sys/class/net/veth0": "-> ../../devices/virtual/net/veth0", "/sys/devices/virtual/net/veth0/mtu": "1500\n"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_no_value_hangs_on_does_not(changes: dict[str, str | None]):
    assert changed(changes) == told()
