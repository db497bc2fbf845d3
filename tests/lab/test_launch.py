"""Every policy on every shape: the CPUs of all threads and all touched pages are where `place` says, and that is right.

Over exec, threads, a fork and a new interpreter of multiprocessing. Each policy of CPUs meets one of memory, on each
shape another one; with LAB_MATRIX=1 all meet all.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import driver
from lab.base import MATRIX
from lab.launched import LAUNCHES, PROGRAM, misplaced, read
from lab.shapes import SHAPES, Shape
from lab.warm import machine
from numatune.cpus import CpuSet
from numatune.launch.policy import CPU_MODES, MEMORY_MODES

pytestmark = pytest.mark.lab

WANTED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "cases/launches.yaml").read_text(encoding="utf-8"))
WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"


@dataclass(frozen=True)
class Case:
    """Options, and what they must come to for each rank: CPUs, and memory as mode and nodes."""

    options: tuple[str, ...]
    ranks: tuple[tuple[str, str], ...]

    def asked(self, place: int) -> dict[str, Any]:
        """As guest/launches.py takes it, for the case at that place: ranks take turns, and every third spawns."""
        return {
            "options": self.options,
            "ranks": 2,
            "only": self.started(place),
            "plan": "--cpus" not in self.options,  # `place` takes lists from profiles
            "program": [*PROGRAM, *(["spawn"] if MATRIX or place % 3 == 0 else [])],
        }

    def started(self, place: int) -> list[int]:
        """The ranks that are."""
        return [*range(len(self.ranks))] if MATRIX else [place % len(self.ranks)]


def cases(shape: str) -> Iterator[Case]:
    """Those of a shape."""
    wanted = WANTED[shape]
    ways = [(cpu, "keep") for cpu in CPU_MODES] + [(cpu, "drop") for cpu in CPU_MODES if "smt" in wanted]
    turn = itertools.cycle(MEMORY_MODES)
    for _ in range(2 * list(WANTED).index(shape)):  # not the same pairs on every shape
        next(turn)
    for cpu, smt in ways:
        for memory in MEMORY_MODES if MATRIX else [next(turn)]:
            yield case(wanted, shape, cpu, smt, memory)
    for memory in itertools.islice(turn, 0 if MATRIX else max(0, len(MEMORY_MODES) - len(ways))):
        yield case(wanted, shape, "node", "keep", memory)
    for named, held in wanted["named"].items():
        mode, _, nodes = named.partition(" ")
        yield Case(("--memory", mode, "--memory-nodes", nodes), ((wanted["cpus"]["node"][0], held),))


def case(wanted: dict[str, Any], shape: str, cpu: str, smt: str, memory: str) -> Case:
    """One policy of each kind."""
    lists = ("--cpus", *wanted["cpus"]["list"]) if cpu == "list" else ()
    cpus = wanted["cpus" if smt == "keep" else "smt"][cpu]
    return Case(
        ("--cpu", cpu, "--smt", smt, "--memory", memory, *lists),
        tuple(
            (each, held(wanted, memory, near(SHAPES[shape], each) if lists else node_of(wanted, cpu, node)))
            for each, node in zip(cpus, wanted["nodes"], strict=True)
        ),
    )


def held(wanted: dict[str, Any], memory: str, node: str) -> str:
    """A policy of memory as it is in force for a rank at a node."""
    if memory in {"local", "none"}:
        return memory
    if memory in {"interleave", "weighted-interleave"}:
        return f"{memory} {wanted['spread']}" if len(wanted["spread"]) > 1 else "local"
    return f"{memory} {node}" if node else "none"


def node_of(wanted: dict[str, Any], cpu: str, node: int) -> str:
    """A rank's node; "" where it is not known."""
    return "" if cpu in wanted.get("nowhere", []) else str(node)


def near(shape: Shape, cpus: str) -> str:
    """The nodes of CPUs."""
    wanted = CpuSet.parse(cpus)
    return str(CpuSet(number for number, node in enumerate(shape.nodes) if CpuSet.parse(node.cpus) & wanted))


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[pytest.mark.matrix] * (shape in {"tiered", "single"})) for shape in WANTED]
)
def test_threads_and_pages_are_where_the_plan_says(shape: str) -> None:
    wanted, every = WANTED[shape], [*cases(shape)]
    with machine(SHAPES[shape]) as guest:
        driver.give(guest, wanted.get("given", ()))
        guest.run("\n".join(f"echo {weight} > {WEIGHTS}/node{node}" for node, weight in wanted["weights"].items()))
        guest.ssh.put({"/root/cases.json": json.dumps([one.asked(place) for place, one in enumerate(every)])})
        told = json.loads(guest.ssh.run(f"{LAUNCHES} < /root/cases.json", timeout=3600).out)
    wrong = [
        (one.options, found)
        for place, (one, answer) in enumerate(zip(every, told, strict=True))
        if (found := [*differences(shape, one, place, answer)])
    ]
    assert wrong == []


def differences(shape: str, one: Case, place: int, answer: dict[str, Any]) -> Iterator[str]:
    """Between what a case must come to, what was planned, and what the started ranks are."""
    if answer["plan"]:
        planned = json.loads(answer["plan"]["out"])
        ranks = tuple((rank["cpus"], spelled(rank["memory"])) for rank in planned.get("ranks", []))
        if ranks[: len(one.ranks)] != one.ranks:
            yield f"planned {planned}"
    for rank, ran in zip(one.started(place), answer["runs"], strict=True):
        cpus, memory = one.ranks[rank]
        said = [line for line in ran["err"].splitlines() if not line.startswith("numatune: memory bind:")]
        found = read(ran["out"])
        if ran["code"] or said or found.keys() != {"self", "fork", *one.asked(place)["program"][len(PROGRAM) :]}:
            yield f"rank {rank}: exit code {ran['code']}, {said}, from {[*found]}"
        for who, told in found.items():
            places = misplaced(told, cpus, memory, near(SHAPES[shape], cpus), WANTED[shape]["weights"])
            yield from (f"rank {rank}, {who}: {found}" for found in places)


def spelled(memory: dict[str, str]) -> str:
    """``bind 2`` of the JSON of a plan."""
    return f"{memory['mode']} {memory['nodes']}".rstrip()
