"""Topologies of any shape, made directly and by chance, also such as no firmware should tell of; and those of cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, get_args

import yaml

from fakes.trees import host_tree, memory
from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.topology.links import Link
from numatune.topology.model import (
    Access,
    Core,
    Cpus,
    Device,
    DeviceKind,
    Interrupt,
    Machine,
    Node,
    NodeKind,
    Pool,
    Section,
    Topology,
)
from numatune.topology.resolve import with_overrides

VIEWS = sorted((Path(__file__).parents[1] / "topology" / "views").glob("*.yaml"))
"""Cases of the text that people see of a host; their hosts are drawn too."""

_NAMES = (
    "",
    "eth0",
    "card0",
    "enp65s0f0np0_with_a_name_that_goes_on_and_on",
    "a b, c",
    "<&>\"'",
    "電網カード",
    "\x1b[2J",
    "\ud800",
)
_KINDS: dict[tuple[bool, bool], NodeKind] = {
    (True, True): "cpu+mem",
    (True, False): "cpu-only",
    (False, True): "memory-only",
    (False, False): "empty",
}
_BRIDGES = ("0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:02:01.0")


def topology(seed: int) -> Topology:
    """Nodes of sparse ids with and without CPUs and memory, cores that span nodes, devices anywhere and nowhere."""
    chance = Random(seed)  # noqa: S311  # a test's chance is no secret
    ids = sorted(chance.sample(range(300), chance.randrange(10)))
    cpus = sorted(chance.sample(range(1100), chance.randint(1, 60)))
    homes = {cpu: chance.choice([None, *ids]) for cpu in cpus}
    again = CpuSet(chance.sample(cpus, min(2, len(cpus))))  # that several nodes name
    devices = tuple(_device(chance, number, ids) for number in range(chance.randrange(12)))
    return Topology(
        sections=frozenset(Section),
        machine=Machine(kernel=chance.choice(_NAMES), distribution=chance.choice(_NAMES)),
        cpus=Cpus(
            online=CpuSet(cpus),
            isolated=CpuSet(cpu for cpu in cpus if chance.random() < 0.2),
            cores=tuple(
                Core(cpus=part, package=chance.choice([None, 0, 1, 2, 70000])) for part in _parts(chance, cpus, 9)
            ),
            l3=tuple(_parts(chance, cpus, 30)) if chance.random() < 0.5 else (),
        ),
        nodes=tuple(_node(chance, one, CpuSet(cpu for cpu in cpus if homes[cpu] == one), again, ids) for one in ids),
        devices=devices,
        links={one.address: Link(lanes=8, speed="16.0 GT/s PCIe", most_lanes=16) for one in devices[::2]},
        interrupts=tuple(_interrupt(chance, number, devices, cpus) for number in range(20 if devices else 0)),
        numa=bool(ids),
    )


def of_case(case: Mapping[str, Any]) -> Topology:
    """The host of a case: `host` for host_tree, `tree` laid over it, `overrides` are the operator's word."""
    tree = host_tree(**case["host"])
    tree.update(case.get("tree", {}))
    return with_overrides(discover(memory(tree)), case.get("overrides", {}))


def viewed() -> dict[str, Topology]:
    """The hosts of VIEWS by their case, each once: up to 36 nodes, 384 CPUs, 16 accelerators."""
    found: dict[str, Topology] = {}
    for path in VIEWS:
        host = of_case(yaml.safe_load(path.read_text(encoding="utf-8")))
        if host not in found.values():
            found[path.stem] = host
    return found


def _parts(chance: Random, cpus: list[int], most: int) -> Iterator[CpuSet]:
    rest = list(cpus)
    while rest:
        count = chance.randint(1, most)
        yield CpuSet(rest[:count])
        rest = rest[count:]


def _node(chance: Random, one: int, own: CpuSet, again: CpuSet, ids: list[int]) -> Node:
    cpus = own | again if chance.random() < 0.2 else own
    memory = chance.choice([None, 0, 1 << 20, 1 << 34, 1 << 42])
    return Node(
        id=one,
        cpus=cpus,
        kind=_KINDS[bool(cpus), memory != 0],
        memory_bytes=memory,
        free_bytes=chance.choice([None, (memory or 0) // 3]),
        distances={other: 10 if other == one else chance.randint(10, 255) for other in ids},
        hugepages={2048: Pool(total=chance.choice([0, 1 << 30]))},
        access=(Access(access_class=0, initiators=CpuSet(ids[:1]), read_latency=300),) if one % 5 == 0 else (),
        tier=chance.choice([None, 4]),
    )


def _device(chance: Random, number: int, ids: list[int]) -> Device:
    return Device(
        address=f"0000:{number + 16:02x}:00.0",
        class_="0302",
        kind=chance.choice(get_args(DeviceKind)),
        vendor="10de",
        device="2330",
        driver=chance.choice(_NAMES),
        names=tuple(chance.sample(_NAMES, chance.randrange(4))),
        resolved_node=chance.choice([None, *ids, 999]),
        resolved_by=chance.choice(["numa_node", "parent", "override"]),
        parents=tuple(reversed(_BRIDGES[: chance.randrange(5)])),
    )


def _interrupt(chance: Random, number: int, devices: tuple[Device, ...], cpus: list[int]) -> Interrupt:
    return Interrupt(
        number=number,
        device=chance.choice(devices).address,
        index=number,
        name=chance.choice(_NAMES),
        effective=chance.choice([None, CpuSet(), CpuSet(cpus[:1]), CpuSet(cpus)]),
    )
