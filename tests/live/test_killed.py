"""The real command is killed (SIGKILL) in the middle of apply and of rollback; the next rollback brings all back."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from fakes.machine import GROUP, Machine
from fakes.process import Ended, process
from fakes.snapshot import GROUPS

from numatune.engine import lock, paths

pytestmark = pytest.mark.live

WIDE = (Path(__file__).parent / "wide.yaml").read_text(encoding="utf-8")
DYING = Path(__file__).with_name("dying.py")


@pytest.fixture
def path(machine: Machine) -> str:
    made = machine.profile(WIDE)
    if os.access(GROUPS / "cpuset.cpus", os.W_OK):
        made = machine.profile(f"{WIDE}cpusets:\n  {GROUP}: {{cpus: '{{{{ cpus.online }}}}', mems: '0'}}\n")
    return made


def dying(machine: Machine, when: str, number: int, *words: str) -> Ended:
    return process(
        [sys.executable, "-P", str(DYING), when, str(number), *words],
        cwd=machine.folder,
        env={"NUMATUNE_STATE_DIR": str(machine.state)},
    )


@pytest.mark.parametrize(
    ("when", "number"),
    [
        ("before", 1),
        ("after", 1),
        ("after", 4),
        ("before", 8),
        ("after", 9),
        ("after", 13),
        ("after", 16),
        ("after", 20),
    ],
)
def test_a_killed_apply_is_told_and_taken_back(machine: Machine, path: str, when: str, number: int):
    killed = dying(machine, when, number, "apply", path, "--yes")
    assert killed.code == -signal.SIGKILL
    assert bool(machine.moved()) == (when == "after" or number > 1)
    with lock.held(paths.lock(), "drift"):  # somebody who looks is not the run
        told = machine.numatune("history")
    assert "run 1 (apply by root" in told.err
    assert "was cut off before its end; take it back with: sudo numatune rollback" in told.err
    back = machine.numatune("rollback", "--yes")
    assert (back.code, machine.moved()) == (0, {}), back.out
    assert "cut off" not in machine.numatune("history").err


@pytest.mark.parametrize("number", [1, 6, 12])
def test_a_killed_rollback_is_finished_by_the_next_one(machine: Machine, path: str, number: int):
    assert machine.numatune("apply", path, "--yes").code == 0
    assert dying(machine, "after", number, "rollback", "--yes").code == -signal.SIGKILL
    assert machine.moved() != {}
    assert "finish it with: sudo numatune rollback" in machine.numatune("plan", path).err
    assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {}
