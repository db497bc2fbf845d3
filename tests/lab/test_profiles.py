"""Each shipped profile on a shape that it is for: applied, in force, proved, and taken back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import driver
from lab.reports import PAGES, STATE, changed, failed, moved, statuses, summary
from lab.shapes import SHAPES
from lab.ssh import Answer
from lab.warm import machine

pytestmark = [pytest.mark.lab, pytest.mark.matrix]  # minutes for each profile

CASES: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "cases/profiles.yaml").read_text(encoding="utf-8"))
MANAGED = re.compile(r"irq:0000:21:00\.0/\d+")  # of the NVMe: the kernel's own


def commands(name: str, case: Mapping[str, Any]) -> dict[str, str]:
    """What is asked of the guest for one profile, under keys that begin with its name."""
    variables = " ".join(f"--var {key}={value}" for key, value in case.get("variables", {}).items())
    asked = {
        "apply": f"numatune apply {name} {variables} --yes --json",
        "again": f"numatune apply {name} {variables} --yes --json",
        "verify": "numatune verify --json",
        **{one["run"]: f"PAGES='{PAGES}'; ({one['run']}) 2>&1; true" for one in case["shown"]},
        "rollback": "numatune rollback --all --yes --json",
        "after": f"systemctl stop inference.slice; {STATE}",
        "start": "systemctl start inference.slice",  # for the next: else what the slice may have is pending
    }
    return {f"{name} {key}": command for key, command in asked.items()}


def check(name: str, case: Mapping[str, Any], told: Mapping[str, Answer], before: Answer) -> None:
    """All that was asked of one profile, and what it should have been."""
    unmet = case.get("unmet", {})
    for report in ("apply", "again", "verify"):
        found = statuses(told[report])
        assert {
            row: status
            for row, status in found.items()
            if status not in ("ok", "not-applicable")
            and not (status == "unchangeable" and MANAGED.fullmatch(row))
            and not (status == "pending" and row.startswith("irq:"))  # until the next interrupt, which may never come
        } == unmet, (name, report)
        assert summary(told[report])["differences"] == 0, (name, report)
    assert changed(told["apply"]), name
    assert changed(told["again"]) == set(), name
    for one in case["shown"]:
        assert re.search(one["says"], told[one["run"]].out, re.MULTILINE), (name, one["run"], told[one["run"]].out)
    assert moved(before, told["after"]) == [], name


@pytest.mark.parametrize("shape", CASES)
def test_shipped_profiles_go_on_and_come_off(shape: str) -> None:
    """irqbalance is off meanwhile, so that only numatune moves interrupts."""
    asked = {"before": f"systemctl stop irqbalance; {STATE}", "start": "systemctl start inference.slice"}
    with machine(SHAPES[shape]) as guest:
        driver.give(guest, CASES[shape].get("given", ()))
        told = guest.batch(asked)
        for name, case in CASES[shape]["profiles"].items():
            told |= guest.batch(commands(name, case))
    assert failed(told) == {}
    for name, case in CASES[shape]["profiles"].items():
        own = {key.removeprefix(f"{name} "): answer for key, answer in told.items() if key.startswith(f"{name} ")}
        check(name, case, own, told["before"])
