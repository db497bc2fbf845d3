"""What three tools say of one host's topology, in one form: numatune, numactl and lstopo (hwloc)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

Ids = frozenset[int]
_MIB = 20
_NETWORK = "2"  # hwloc's OSDev type


@dataclass(frozen=True, slots=True)
class Memory:
    """A node: its CPUs, its memory in MiB, its distances in the order of the nodes."""

    cpus: Ids
    mebibytes: int
    distances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """Packages, cores and L3 caches as sets of CPUs, memory in bytes by node, and the CPUs and NIC of PCI devices."""

    packages: frozenset[Ids]
    cores: frozenset[Ids]
    caches: frozenset[Ids]
    memory: Mapping[int, int]
    devices: Mapping[str, tuple[Ids, str]]


def nodes_by_numatune(topology: Mapping[str, Any]) -> dict[int, Memory]:
    return {
        node["id"]: Memory(ids(node["cpus"]), node["memory_bytes"] >> _MIB, tuple(node["distances"].values()))
        for node in topology["nodes"]
    }


def nodes_by_numactl(hardware: str) -> dict[int, Memory]:
    """Of `numactl --hardware`."""
    cpus = dict(re.findall(r"^node (\d+) cpus:(.*)$", hardware, re.MULTILINE))
    sizes = dict(re.findall(r"^node (\d+) size: (\d+) MB$", hardware, re.MULTILINE))
    rows = dict(re.findall(r"^ +(\d+): +(.*)$", hardware, re.MULTILINE))
    return {
        int(node): Memory(
            frozenset(map(int, cpus[node].split())), int(sizes[node]), tuple(map(int, rows[node].split()))
        )
        for node in cpus
    }


def parts_by_numatune(topology: Mapping[str, Any], addresses: Mapping[str, object]) -> Parts:
    """`addresses`: of the devices to tell of. One without a node is near to all CPUs."""
    cpus = topology["cpus"]
    near = {node["id"]: ids(node["cpus"]) for node in topology["nodes"]} | {None: ids(cpus["online"])}
    return Parts(
        packages=frozenset(map(ids, cpus["packages"].values())),
        cores=frozenset(ids(core["cpus"]) for core in cpus["cores"]),
        caches=frozenset(map(ids, cpus["l3"])),
        memory={node["id"]: node["memory_bytes"] for node in topology["nodes"]},
        devices={
            row["address"]: (near[row["node"]], row["names"][0] if row["kind"] == "nic" else "")
            for row in topology["devices"]
            if row["address"] in addresses
        },
    )


def parts_by_lstopo(text: str) -> Parts:
    """Of `lstopo --of xml`."""
    top = ET.fromstring(text)  # noqa: S314  # our own guest's
    found = list(top.iter("object"))

    def sets(kind: str) -> frozenset[Ids]:
        return frozenset(of_mask(one.attrib["cpuset"]) for one in found if one.attrib["type"] == kind)

    return Parts(
        packages=sets("Package"),
        cores=sets("Core"),
        caches=sets("L3Cache"),
        memory={
            int(one.attrib["os_index"]): int(one.attrib["local_memory"])
            for one in found
            if one.attrib["type"] == "NUMANode"
        },
        devices=dict(_devices(top, frozenset())),
    )


def _devices(below: ET.Element, cpus: Ids) -> Iterator[tuple[str, tuple[Ids, str]]]:
    """PCI devices have the CPUs of what they hang from; its nodes may be several, where one has memory only."""
    for one in below.findall("object"):
        around = of_mask(one.attrib["cpuset"]) if "cpuset" in one.attrib else cpus
        if one.attrib["type"] == "PCIDev":
            nics = [inner.attrib["name"] for inner in one.iter("object") if inner.get("osdev_type") == _NETWORK]
            yield one.attrib["pci_busid"], (around, "".join(nics))
        yield from _devices(one, around)


def ids(text: str) -> Ids:
    """The members of a list as the kernel spells it: ``0-1,8``."""
    pairs = [piece.partition("-") for piece in text.split(",") if piece]
    return frozenset(number for first, _, last in pairs for number in range(int(first), int(last or first) + 1))


def of_mask(text: str) -> Ids:
    """The members of a mask as hwloc spells it: ``0x00000001,0x0000000f``, an empty group for 0."""
    value = 0
    for group in text.split(","):
        value = value << 32 | int(group or "0", 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)
