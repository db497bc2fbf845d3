"""What numatune's reports and a guest's state say, as tests compare them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from lab.ssh import Answer

STATE = "python3 /opt/numatune/guest/state.py"  # every value that numatune may touch, by code of its own
PAGES = "python3 /opt/numatune/guest/pages.py"  # where a process's pages are
INTERRUPTS = "python3 /opt/numatune/guest/interrupts.py"
FRAMES = "python3 /opt/numatune/guest/frames.py"


def failed(told: Mapping[str, Answer], **codes: int) -> dict[str, str]:
    """What did not end as it should (with 0 unless `codes` names another, without a complaint), and its last words."""
    return {
        name: f"exit {one.code}: {one.err or one.out[-600:]}"
        for name, one in told.items()
        if (one.code, one.err) != (codes.get(name, 0), "")
    }


def moved(before: Answer, after: Answer) -> list[str]:
    """The values that differ, as they were (-) and as they are (+)."""
    lines = difflib.unified_diff(before.out.splitlines(), after.out.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def rows(report: Answer) -> dict[str, dict[str, Any]]:
    """The rows of a report, by id."""
    return {row["id"]: row for row in json.loads(report.out)["settings"]}


def statuses(report: Answer) -> dict[str, str]:
    return {name: row["status"] for name, row in rows(report).items()}


def changed(report: Answer) -> set[str]:
    return {name for name, row in rows(report).items() if row["changed"]}


def summary(report: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report.out)["summary"]
    return found
