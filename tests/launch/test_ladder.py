"""What takes the place of a memory policy that the kernel refuses, on a kernel that knows fewer modes."""

from __future__ import annotations

import errno

import pytest

from numatune import mempolicy
from numatune.cpus import CpuSet
from numatune.launch import applying
from numatune.launch.model import Memory, Placement
from numatune.launch.policy import Fallback, MemoryMode, Policy

EVERY = CpuSet(range(4))


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Modes that the kernel does not know; it holds the last one that it took."""
    unknown, held = {"weighted-interleave"}, [mempolicy.InForce("default")]

    def set_task(mode: str, nodes: CpuSet) -> None:
        if mode in unknown:
            raise OSError(errno.EINVAL, "")
        held.append(mempolicy.InForce(mode, nodes))

    monkeypatch.setattr(mempolicy, "set_task", set_task)
    monkeypatch.setattr(mempolicy, "of_task", lambda: held[-1])
    return unknown


@pytest.mark.parametrize(
    ("node", "nodes", "fallback", "held"),
    [
        (3, EVERY, ("preferred",), Memory("preferred", CpuSet([3]))),
        (None, EVERY, ("preferred",), Memory("preferred-many", EVERY)),
        (0, CpuSet([4]), ("preferred",), Memory("preferred", CpuSet([4]))),  # named: memory of a GPU
        (3, EVERY, ("interleave", "preferred"), Memory("interleave", EVERY)),
        (3, EVERY, ("weighted-interleave", "local"), Memory("local")),
        (3, EVERY, ("cpu-only",), Memory()),
    ],
)
def test_what_takes_the_place_of_a_mode_that_is_not_known(
    old: set[str], node: int | None, nodes: CpuSet, fallback: tuple[Fallback, ...], held: Memory
):
    said: list[str] = []
    assert applying.apply(placed(node, nodes), Policy(fallback=fallback), said.append) == held
    assert said[0].startswith(f"memory weighted-interleave {nodes} refused: EINVAL")
    assert old


def test_where_nothing_is_taken_it_starts_unbound(old: set[str]):
    old |= {"preferred", "preferred-many", "bind"}
    said: list[str] = []
    ladder: tuple[Fallback, ...] = ("preferred", "bind")
    assert applying.apply(placed(1, EVERY), Policy(fallback=ladder), said.append) == Memory()
    assert [line.partition(" refused")[0] for line in said] == [
        "memory weighted-interleave 0-3",
        "memory preferred 1",
        "memory bind 0-3",
        "starts unbound",
    ]


def placed(node: int | None, nodes: CpuSet, mode: MemoryMode = "weighted-interleave") -> Placement:
    """CPUs stay as they are: they are this process's."""
    return Placement(rank=0, devices=(), node=node, cpus=CpuSet(), bound=False, memory=Memory(mode, nodes))
