"""Saved plans as a person meets them: what came in between is named, and nothing is written then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.commands import typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two
from fakes.refusals import Refuses

SWAPPINESS, STAT = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval"


@pytest.fixture
def saved(kernel: FakeKernel) -> FakeKernel:
    """A plan of three.yaml lies in today.plan, on a host with a smaller set applied."""
    Path("small.yaml").write_text("name: small\nsysctl: {vm.page-cluster: 0}\n")
    Path("none.yaml").write_text("name: none\n")
    kernel.put("/proc/sys/vm/page-cluster", "3\n")
    assert typed("apply", "small.yaml", "--yes").code == 0
    assert typed("plan", "three.yaml", "--out", "today.plan").code == 2
    kernel.log.clear()
    return kernel


def test_a_saved_plan_is_carried_out(saved: FakeKernel) -> None:
    assert typed("apply", "--plan", "today.plan", "--yes").code == 0
    assert saved.files[SWAPPINESS] == "10\n"


def test_a_hold_that_came_after_the_plan_is_respected(saved: FakeKernel) -> None:
    typed("hold", "--all", "--for", "4h", "--why", "do not touch")
    done = typed("apply", "--plan", "today.plan", "--yes")
    assert done.code == 1
    assert "sysctl:vm.swappiness: is held by " in done.err
    assert ": do not touch" in done.err
    assert saved.log == []


def test_another_set_that_took_no_run_is_a_move_too(saved: FakeKernel) -> None:
    Path("small.yaml").write_text("name: small\nversion: '2'\nsysctl: {vm.page-cluster: 0}\n")
    assert typed("apply", "small.yaml", "--yes").code == 0
    done = typed("apply", "--plan", "today.plan", "--yes")
    assert done.code == 1
    assert "has other profiles applied than when the plan was saved" in done.err
    assert saved.log == []


def test_all_or_nothing_can_be_asked_for_when_the_plan_is_carried_out(saved: FakeKernel) -> None:
    saved.behaviours = (Refuses(STAT, 22), *saved.behaviours)
    done = typed("apply", "--plan", "today.plan", "--yes", "--on-error", "rollback")
    assert done.code == 1
    assert saved.files[SWAPPINESS] == "60\n"


def test_a_plan_is_not_put_in_the_place_of_what_is_no_file(kernel: FakeKernel) -> None:  # noqa: ARG001
    os.mkfifo("pipe")
    done = typed("plan", "three.yaml", "--out", "pipe")
    assert done.code == 1
    assert "is no regular file" in done.err
    assert Path("pipe").is_fifo()


def test_a_plan_goes_where_a_folder_is_and_nothing_else_is_read_as_one(kernel: FakeKernel) -> None:  # noqa: ARG001
    done = typed("plan", "three.yaml", "--out", "typo/today.plan")
    assert (done.code, "there is no such folder" in done.err) == (1, True)
    assert not Path("typo").exists()
    for name, text in (("no.json", "x"), ("other.json", '{"a": 1}')):
        Path(name).write_text(text)
        done = typed("apply", "--plan", name, "--yes")
        assert done.code == 1
        assert f"/{name}: is no file of numatune's" in done.err
        assert "(numatune plan PROFILE --out FILE writes one)" in done.err


def test_what_lies_beside_a_plan_is_left_alone(kernel: FakeKernel) -> None:  # noqa: ARG001
    Path("today.plan.reserve").write_text("mine")
    typed("plan", "three.yaml", "--out", "today.plan")
    assert Path("today.plan.reserve").read_text() == "mine"
    assert sorted(path.name for path in Path().glob("today*")) == ["today.plan", "today.plan.reserve"]
