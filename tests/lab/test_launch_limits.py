"""A launch inside what a container, a unit or an administrator has taken away: each step down is said, and it starts.

cases/limits.yaml has what is taken away, and what then holds.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import driver
from lab.launched import LAUNCHES, PROGRAM, differences
from lab.machine import Machine

pytestmark = pytest.mark.lab

LIMITS = yaml.safe_load((Path(__file__).parent / "cases/limits.yaml").read_text(encoding="utf-8"))
ACCELERATORS = ("0000:61:00.0", "0000:81:00.0")  # at nodes 2 and 3


@pytest.fixture(scope="module")
def limited(nps2: Machine) -> Machine:
    driver.give(nps2, ACCELERATORS)
    return nps2


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: case["tells"])
def test_each_step_down_is_said_and_the_command_starts(limited: Machine, case: dict[str, Any]) -> None:
    asked = [
        {"options": one["options"], "ranks": 2, "only": [0], "plan": False, "program": PROGRAM}
        for one in case["launches"]
    ]
    limited.ssh.put({"/root/cases.json": json.dumps(asked)})
    told = limited.run(command(case))
    wrong = [
        (one["options"], found)
        for one, answer in zip(case["launches"], json.loads(told.out), strict=True)
        if (found := [*differences(one, answer["runs"][0], {})])
    ]
    assert wrong == []


def command(case: dict[str, Any]) -> str:
    """The launches, inside a unit or with a CPU that does not run; it runs again afterwards, whatever comes."""
    launches = f"{LAUNCHES} < /root/cases.json"
    if "offline" in case:
        switch = f"/sys/devices/system/cpu/cpu{case['offline']}/online"
        return f"trap 'echo 1 > {switch}' EXIT; echo 0 > {switch} && {launches}"
    limits = shlex.join(f"--property={one}" for one in case["limit"])
    return f"systemd-run --quiet --wait --pipe {limits} {launches}"
