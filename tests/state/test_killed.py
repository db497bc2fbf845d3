"""A kill at any step of a command, also between two files of the state: what is left is told, and can be mended."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fakes import worlds
from fakes.commands import typed
from fakes.kernel import FakeKernel
from fakes.kills import different
from fakes.trees import host_tree

FIRST = "name: first\nsysctl: {vm.swappiness: 10, vm.stat_interval: 10}\ncpusets: {a: {cpus: 0-3, mems: 0}}\n"
SECOND = "name: second\nsysctl: {vm.swappiness: 20}\nthp: {enabled: never}\n"


class World(worlds.World):
    """Which knows what is applied to it."""

    @property
    def applied(self) -> str:
        """Names of the applied profiles; "" when nothing is applied."""
        path = self.folder / "state" / "applied.json"
        if not path.exists():
            return ""
        parts = json.loads(path.read_text())["holds"]["parts"]
        return " ".join(info["name"] for part in parts for info in part["profiles"])

    def agrees(self, state: dict[str, str], name: str) -> None:
        """The host is in that state, the set of that name is applied, and drift sees no difference."""
        assert (different(self.kernel.state(), state), self.applied) == ({}, name)
        found = typed("drift", "--json")
        assert found.code == (0 if name else 1), found
        if name:
            assert found.json["profile"] == name

    def is_cut_off(self) -> bool:
        return "was cut off before its end" in typed("history").err


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Nothing is applied; both profiles lie in the working directory."""
    folder = tmp_path / "world"
    folder.mkdir()
    made = World(FakeKernel(host_tree(nodes=2, systemd=False)), folder, monkeypatch)
    (folder / "first.yaml").write_text(FIRST)
    (folder / "second.yaml").write_text(SECOND)
    made.enter()
    return made


def done(*argv: str) -> None:
    came = typed(*argv)
    assert came.code == 0, came


def test_an_apply_that_is_killed(world: World) -> None:
    zero = world.kernel.state()
    done("apply", "first.yaml", "--yes")
    first = world.kernel.state()
    for one in world.lives("apply", "second.yaml", "--yes"):
        if one.is_cut_off():
            done("rollback", "--yes")
        elif one.applied == "first" and one.kernel.state() != first:
            assert typed("drift").code == 2
            assert typed("drift", "--repair").code == 2
            done("apply", "second.yaml", "--yes")
        if one.applied == "second":
            one.agrees(one.kernel.state(), "second")
            done("rollback", "--yes")
        one.agrees(first, "first")
        done("rollback", "--yes")
        one.agrees(zero, "")


def test_a_rollback_that_is_killed(world: World) -> None:
    zero = world.kernel.state()
    done("apply", "first.yaml", "--yes")
    first = world.kernel.state()
    done("apply", "second.yaml", "--yes")
    second = world.kernel.state()
    for one in world.lives("rollback", "--yes"):
        if one.is_cut_off() or one.applied == "second":
            if not one.is_cut_off():
                one.agrees(second, "second")
            done("rollback", "--yes")
        one.agrees(first, "first")
        done("rollback", "--yes")
        one.agrees(zero, "")


def test_a_rollback_that_is_killed_twice(world: World) -> None:
    zero = world.kernel.state()
    done("apply", "first.yaml", "--yes")
    first = world.kernel.state()
    done("apply", "second.yaml", "--yes")
    for steps in (8, 14, 20, 26):
        middle = world.copy(f"middle{steps}")
        middle.killed(steps, "rollback", "--yes")
        for one in middle.lives("rollback", "--yes", "--run", "2", least=2):
            if one.is_cut_off() or one.applied == "second":
                done("rollback", "--yes")
            one.agrees(first, "first")
            done("rollback", "--yes")
            one.agrees(zero, "")
            shutil.rmtree(one.folder)
        shutil.rmtree(middle.folder)


def test_a_rollback_of_everything_that_is_killed(world: World) -> None:
    zero = world.kernel.state()
    done("apply", "first.yaml", "--yes")
    done("apply", "second.yaml", "--yes")
    for one in world.lives("rollback", "--all", "--yes"):
        while one.is_cut_off() or one.applied:
            done("rollback", "--yes")
        one.agrees(zero, "")
