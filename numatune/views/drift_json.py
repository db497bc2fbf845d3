"""Drift as JSON: the rows of a plan, each with its two letters and how the last apply left it."""

from __future__ import annotations

import dataclasses
from typing import Any

from numatune.settings.drift import Drift, DriftRow
from numatune.views import plan_json
from numatune.views.values import held

FORMAT = 1


def drift(found: Drift) -> dict[str, Any]:
    """All rows, also those that are as wanted."""
    return {
        "format": FORMAT,
        "profile": " ".join(info.name for info in found.profiles),
        "profiles": [dataclasses.asdict(info) for info in found.profiles],
        "compared_with": "applied" if found.stored else "profile",
        "applied": {"when": found.since, "run": found.run} if found.since else None,
        "rebooted": found.rebooted,
        "worked_out_anew": found.anew,
        "settings": [row(one) for one in found.rows],
        "summary": {**plan_json.summary(one.change for one in found.rows), "differences": found.counted},
    }


def row(found: DriftRow) -> dict[str, Any]:
    """One setting."""
    last = found.last
    return {
        **plan_json.row(found.change),
        "letters": found.letters,
        "counted": found.counted,
        "last": {"status": last.status.value, "held": held(found.change, last.held)} if last else None,
        "repaired": found.repaired,
        "note": found.note,
    }
