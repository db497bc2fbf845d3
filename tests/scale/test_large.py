"""8 nodes, 1,024 CPUs, 64 accelerators, up to 4,096 interrupts: every row right, and no more asked than there is.

Questions to the host and calls of Python are counted: what twice as many interrupts double is linear, on any machine.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.commands import Typed, typed
from fakes.large import ACCELERATORS, CPUS_PER_NODE, LARGEST, NICS, NODES, NVMES, large_host
from fakes.trees import memory

from numatune import api
from numatune.cpus import CpuSet
from numatune.host.protocol import Read, Reader, Stat

Run = Callable[..., tuple[Typed, int]]
CORES = CPUS_PER_NODE // 2
FEW, MORE, MANY = 128, 192, 320
CPUS = 16
"""A node, where only the interrupts count."""
MOST_MEMORY = 150 << 20
"""Bytes that a command may hold at most; `make bench` prints it too."""
ROUGHLY = 1.1
"""A linear cost may go this much beyond its line, as sorting does."""


class Counted:
    """A Reader that counts what it is asked."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def read(self, path: str) -> Read:
        self.asked[path] += 1
        return self._reader.read(path)

    def stat(self, path: str) -> Stat | None:
        self.asked[path] += 1
        return self._reader.stat(path)

    def names(self, folder: str) -> tuple[str, ...]:
        self.asked[folder] += 1
        return self._reader.names(folder)


@pytest.fixture(scope="module")
def hosts() -> dict[int, Reader]:
    """By the number of interrupts."""
    return {}


@pytest.fixture
def on(hosts: dict[int, Reader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Typed]:
    """Run a command on the host with so many interrupts; `asked` of it then tells how often it was asked for what."""
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path))

    def run(interrupts: int, *words: str, by: Callable[[Reader], Reader] = lambda reader: reader) -> Typed:
        if interrupts not in hosts:
            hosts[interrupts] = memory(large_host(interrupts, cpus_per_node=CPUS))
        host = hosts[interrupts]
        monkeypatch.setattr(api, "open_reader", lambda *_, **__: by(host))
        return typed("--root", "a large host", *words)

    return run


@pytest.fixture(scope="module")
def largest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, int]:
    """The plan of the largest by a process of its own, and the most bytes that it held."""
    folder = tmp_path_factory.mktemp("largest")
    host = folder / "host"
    host.write_bytes(pickle.dumps(memory(large_host(LARGEST))))
    words = ("--root", "a large host", "plan", "llm-inference", "--json")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "NUMATUNE_STATE_DIR": str(folder / "state")}
    argv = (sys.executable, "-m", "scale.apart", str(host), *words)
    ran = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    host.unlink()
    *said, peak = ran.stderr.splitlines()
    assert (ran.returncode, said) == (2, [])
    return json.loads(ran.stdout), int(peak)


def test_the_plan_of_the_largest_takes_no_more_memory_than_a_small_host_can_spare(largest: tuple[Any, int]):
    _, peak = largest
    assert 10 << 20 < peak < MOST_MEMORY


def test_the_plan_of_the_largest_has_every_interrupt_where_its_rule_puts_it(largest: tuple[Any, int]):
    plan, _ = largest
    rows = {row["id"]: row for row in plan["settings"] if row["id"].startswith("irq:0000:")}
    assert len(rows) == LARGEST - ACCELERATORS
    left = dict(rows)
    for place in range(NICS):
        for index, row in _of_device(place, left):
            core = place % NODES * CORES + index % CORES
            assert CpuSet.parse(row["wanted"]) == CpuSet([core, core + NODES * CORES]), row["id"]
            assert row["action"] == "update"
    for place in range(NVMES):
        for index, row in _of_device(NICS + ACCELERATORS + place, left):
            first = place % NODES * CORES
            local = CpuSet(range(first, first + CORES)) | CpuSet(
                range(first + NODES * CORES, first + (NODES + 1) * CORES)
            )
            assert CpuSet.parse(row["wanted"]) == local, row["id"]
            assert row["status"] == ("unchangeable" if index else "drifted")
    assert not left


def _of_device(place: int, left: dict[str, Any]) -> list[tuple[int, Any]]:
    """The rows of a device, by its place on the bus, with their index; they are taken out of `left`."""
    mine = [sid for sid in left if sid.startswith(f"irq:0000:{0x41 + place:02x}:00.0/")]
    assert mine
    return [(int(sid.rpartition("/")[2]), left.pop(sid)) for sid in mine]


@pytest.mark.parametrize("words", [("plan", "llm-inference"), ("topology",)])
def test_the_host_is_asked_in_proportion_to_its_interrupts(on: Callable[..., Typed], words: tuple[str, ...]):
    def asked(interrupts: int) -> int:
        made: list[Counted] = []

        def counted(reader: Reader) -> Any:
            made.append(Counted(reader))
            return made[-1]

        on(interrupts, *words, by=counted)
        return sum(one.asked.total() for one in made)

    few, more, many = map(asked, (FEW, MORE, MANY))
    assert more > few
    assert many - more <= (more - few) * (MANY - MORE) / (MORE - FEW) * ROUGHLY


@pytest.mark.parametrize("words", [("plan", "llm-inference", "--verbose")])
def test_the_work_is_in_proportion_to_the_interrupts(on: Callable[..., Typed], words: tuple[str, ...]):
    """Calls of functions, those written in C too: a set made anew for each interrupt shows in the calls of its hash."""

    def calls(interrupts: int) -> int:
        made = 0

        def count(_frame: object, event: str, _what: object) -> None:
            nonlocal made
            made += event in {"call", "c_call"}

        sys.setprofile(count)
        try:
            on(interrupts, *words)
        finally:
            sys.setprofile(None)
        return made

    on(FEW, *words)  # what is made once is made
    few, more, many = map(calls, (FEW, MORE, MANY))
    assert more > few
    assert many - more <= (more - few) * (MANY - MORE) / (MORE - FEW) * ROUGHLY


def test_every_rank_of_sixty_four_has_an_accelerator_and_its_node(on: Callable[..., Typed]):
    done = on(FEW, "place", "--ranks", str(ACCELERATORS), "--json")
    assert (done.code, done.err) == (0, "")
    for rank, placed in enumerate(done.json["ranks"]):
        node = rank % NODES
        assert placed["devices"] == [f"0000:{0x41 + NICS + rank:02x}:00.0"]
        assert placed["node"] == node
        first, second = node * CPUS // 2, (NODES + node) * CPUS // 2
        assert CpuSet.parse(placed["cpus"]) == CpuSet(
            [*range(first, first + CPUS // 2), *range(second, second + CPUS // 2)]
        )
    assert len(done.json["ranks"]) == ACCELERATORS
