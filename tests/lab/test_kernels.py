"""One profile on three kernels: the rows that each has, why it lacks the others, and the host as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.kernels import DEFAULT, SUITES
from lab.reports import STATE, changed, failed, moved, rows, statuses
from lab.shapes import NPS2
from lab.warm import machine

pytestmark = pytest.mark.lab

CASE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "cases/kernels.yaml").read_text(encoding="utf-8"))
STARTED = "systemctl start inference.slice rt.slice; modprobe dummy"
ALLOWED = "grep Cpus_allowed_list /proc/$(systemctl show --value --property=MainPID work)/status"


def version(text: object) -> tuple[int, ...]:
    """6.12 of 6.12.117+deb13-cloud-amd64."""
    return tuple(int(number) for number in re.findall(r"\d+", str(text))[:2])


def on(kernel: str, table: Mapping[str, Mapping[object, Any]]) -> dict[str, Any]:
    """What a table says of a kernel: of each row, the newest entry that is not newer than the kernel."""
    return {
        name: entries[max((since for since in entries if version(since) <= version(kernel)), key=version)]
        for name, entries in table.items()
    }


# The default one has every knob in test_core.
@pytest.mark.parametrize(
    "kernel", [pytest.param(kernel, marks=[pytest.mark.matrix] * (kernel == DEFAULT)) for kernel in SUITES]
)
def test_what_a_kernel_has_is_applied_and_what_it_lacks_is_said(kernel: str) -> None:
    with machine(NPS2, kernel) as guest:
        guest.ssh.put({"/root/differences.yaml": CASE["profile"]})
        told = guest.batch(
            {
                "kernel": "uname -r",
                "before": f"{STATE} memory groups files",
                "start": f"{STARTED}; systemd-run --quiet --unit=work --slice=inference.slice sleep 1000",
                "apply": "numatune apply /root/differences.yaml --yes --allow-disruption --json",
                "again": "numatune apply /root/differences.yaml --yes --allow-disruption --json",
                "confined": ALLOWED,
                "verify": "numatune verify --json",
                **{command: f"({command}) 2>&1; true" for command in CASE["shown"]},
                "rollback": "numatune rollback --all --yes --json",
                "free": ALLOWED,
                "stop": "systemctl stop work inference.slice rt.slice",
                "after": f"{STATE} memory groups files",
            }
        )
    running = told["kernel"].out
    not_given_back = on(running, CASE["left"])
    assert failed(told, apply=2, again=2, verify=2, rollback=2 if any(not_given_back.values()) else 0) == {}
    wanted = {name: status for name, status in on(running, CASE["rows"]).items() if status != "ok"}
    assert changed(told["again"]) == set()
    for report in ("apply", "again", "verify"):
        assert {name: status for name, status in statuses(told[report]).items() if status != "ok"} == wanted
    found = rows(told["apply"])
    held, free = (told[name].out.split()[1] for name in ("confined", "free"))
    assert (held, free) == (on(running, CASE["work"])["held"], "0-3")
    reasons = on(running, CASE["reasons"])
    assert {name: word for name, word in reasons.items() if word not in found[name]["reason"]} == {}
    shown = on(running, CASE["shown"])
    said = {command: told[command].out for command in shown}
    assert {name: out for name, out in said.items() if not re.search(shown[name], out, re.MULTILINE)} == {}
    left = [line for line in moved(told["before"], told["after"]) if line.startswith("+")]
    for prefix, count in not_given_back.items():
        assert len([line for line in left if line.startswith(f"+{prefix}")]) == count
        left = [line for line in left if not line.startswith(f"+{prefix}")]
    assert left == []
