"""Every captured host, every mode: an answer inside what is there, disjoint where it is exclusive, or a LaunchError."""

from __future__ import annotations

import itertools

import pytest
from launch.hosts import CAPTURES, captured

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch.model import Placement, Process
from numatune.launch.placement import place
from numatune.launch.policy import CPU_MODES, MEMORY_MODES, Policy
from numatune.launch.ranks import Rank
from numatune.launch.visible import visible

NAMES = sorted(path.name.removesuffix(".tar.xz") for path in CAPTURES.glob("*.tar.xz"))

pytestmark = [
    pytest.mark.captures,
    pytest.mark.skipif(not NAMES, reason=f"no captured hosts in {CAPTURES} (NUMATUNE_CAPTURES names another folder)"),
]


def placements(name: str, policy: Policy, size: int, *, devices: bool) -> list[Placement]:
    topology, found = captured(name)
    seen = visible({}, found.given).devices if devices else ()
    made = []
    for rank in (None, *range(size)):
        process = Process(
            rank=Rank(rank, size if rank is not None else None),
            cpus=topology.cpus.online,
            mems=CpuSet(node.id for node in topology.nodes),
            seen=seen,
            accelerators=found.given,
            kin=found.kin,
        )
        made.append(place(topology, process, policy))
    return made


@pytest.mark.parametrize("name", NAMES or [pytest.param("none", id="none")])
def test_every_mode_has_an_answer(name: str):
    topology, found = captured(name)
    kinds = {node.id: node.kind for node in topology.nodes}
    for cpu, memory, devices in itertools.product(CPU_MODES, MEMORY_MODES, (False, True)):
        policy = Policy(cpu=cpu, cpus=topology.cpus.online, memory=memory, reserve_cores=1)
        for one in placements(name, policy, max(2, len(found.given)) if devices else 3, devices=devices):
            assert one.cpus
            assert one.cpus <= topology.cpus.online
            assert all(kinds[node] == "cpu+mem" for node in one.memory.nodes)


@pytest.mark.parametrize("name", NAMES or [pytest.param("none", id="none")])
@pytest.mark.parametrize("devices", [False, True])
def test_exclusive_shares_do_not_overlap(name: str, devices: bool):  # noqa: FBT001  # a parameter of the test
    _, found = captured(name)
    size = len(found.given) if devices else 4
    try:
        _, *made = placements(name, Policy(cpu="exclusive", strict=True), size, devices=devices)
    except LaunchError:
        return  # fewer cores than ranks, or a node that nobody knows
    for one, other in itertools.combinations(made, 2):
        assert not one.cpus & other.cpus
