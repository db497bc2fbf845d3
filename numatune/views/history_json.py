"""The runs of a host as JSON, oldest first."""

from __future__ import annotations

import dataclasses
import errno as errnos
from collections.abc import Sequence
from typing import Any

from numatune.settings.codecs import shown
from numatune.settings.history import PastRow, PastRun

FORMAT = 1


def runs(past: Sequence[PastRun], rows: Sequence[PastRow] | None = None) -> dict[str, Any]:
    """All runs, or one with its rows."""
    made: dict[str, Any] = {"format": FORMAT, "runs": [_run(one) for one in past]}
    if rows is not None:
        made["settings"] = [_row(row) for row in rows]
    return made


def _run(past: PastRun) -> dict[str, Any]:
    start, end = past.start, past.end
    return {
        "run": start.run,
        "kind": start.kind,
        "when": start.when,
        "who": start.who,
        "why": start.why,
        "profiles": [dataclasses.asdict(info) for info in start.profiles],
        "undoes": list(start.undoes),
        "state": past.state,
        "taken_back_by": past.taken_back_by or None,
        "changed": end.changed if end else None,
        "differences": end.counted if end else None,
        "spared": list(end.spared) if end else [],
        "boot_id": start.boot_id,
        "version": start.version,
    }


def _row(row: PastRow) -> dict[str, Any]:
    codec = row.setting.codec
    return {
        "id": row.setting.id,
        "section": row.setting.section,
        "action": row.action.value,
        "before": shown(codec, row.before),
        "held": shown(codec, row.held),
        "errno": errnos.errorcode.get(row.errno) if row.errno else None,
        "repairs": list(row.repairs),
    }
