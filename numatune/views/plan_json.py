"""A plan as JSON, format 1, described by plan.schema.json. `row` alone makes the public row of a setting."""

from __future__ import annotations

import dataclasses
import errno as errnos
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, Outcome, Plan, Status, counts
from numatune.views.values import asked, current, effective, held

Json = dict[str, Any]


def schema() -> str:
    """The JSON Schema (draft 2020-12) of what `plan` and `report` make, as text."""
    from importlib.resources import files  # noqa: PLC0415  # costs more than the rest of a drift

    return files("numatune.views").joinpath("plan.schema.json").read_text(encoding="utf-8")


def plan(made: Plan) -> Json:
    """What would be done."""
    return {**_head(made), "settings": [row(change) for change in made.rows], "summary": summary(made.rows)}


def report(
    made: Plan,
    outcomes: Mapping[SettingId, Outcome],
    run: int | None,
    *,
    taken_back_by: int | None = None,
    confirm_until: str | None = None,
) -> Json:
    """What was done: the rows of the plan with what came of them. `run`: None when nothing was written.

    taken_back_by  the rollback that undid all of it, because a write was refused
    confirm_until  when the run is taken back unless it is confirmed; None: nothing waits
    """
    rows = [row(change, outcomes.get(change.setting.id)) for change in made.rows]
    runs = {"run": run, "taken_back_by": taken_back_by, "confirm_until": confirm_until}
    return {**_head(made), **runs, "settings": rows, "summary": summary(made.rows, outcomes)}


def row(change: Change, outcome: Outcome | None = None) -> Json:
    """One setting. With an outcome, what the host holds is what it holds afterwards, and three keys tell the way."""
    setting = change.setting
    made: Json = {
        "id": setting.id,
        "section": setting.section,
        "status": change.status.value,
        "action": change.action.value,
        "wanted": asked(change),
        "current": current(change),
        "effective": effective(change),
        "why": setting.why,
        "source": str(setting.source) if setting.source else None,
        "reason": change.reason,
        "held": change.held,
        "impact": change.impact.value,
        "note": setting.note,
        "undo": setting.undo,
        "restart_needed": list(change.restart_needed),
        "not_reached": list(change.seen.not_reached),
        "optional": setting.optional,
        "conflicts": [dataclasses.asdict(conflict) for conflict in change.seen.conflicts],
    }
    if outcome:
        made |= {
            "status": outcome.status.value,
            "current": held(change, outcome.held),
            "effective": held(change, outcome.effective),
            "reason": outcome.reason or change.reason,
            "conflicts": [dataclasses.asdict(conflict) for conflict in outcome.conflicts],
            "before": held(change, outcome.before),
            "changed": outcome.changed,
            "errno": errnos.errorcode.get(outcome.errno) if outcome.errno else None,
        }
    return made


def summary(rows: Iterable[Change], outcomes: Mapping[SettingId, Outcome] | None = None) -> Json:
    """`differences` make the exit code 2; `changes` are what apply would do (or, with outcomes, did)."""
    statuses: Counter[str] = Counter()
    total = differences = changes = 0
    for change in rows:
        outcome = (outcomes or {}).get(change.setting.id)
        status = outcome.status if outcome else change.status
        total += 1
        statuses[status.value] += 1
        differences += _differs(change, status, applying=outcomes is not None)
        changes += outcome.changed if outcome else outcomes is None and change.action is not Action.NONE
    by_status = dict(sorted(statuses.items()))
    return {"settings": total, "differences": differences, "changes": changes, "by_status": by_status}


def _differs(change: Change, status: Status, *, applying: bool) -> bool:
    if change.held:
        return False
    if change.action is Action.RELEASE:
        return not applying or status is not Status.OK
    return counts(change.setting, status, applying=applying)


def _head(made: Plan) -> Json:
    return {
        "format": made.format,
        "profile": " ".join(info.name for info in made.profiles),
        "profiles": [dataclasses.asdict(info) for info in made.profiles],
        "host": dataclasses.asdict(made.host),
        "notes": list(made.notes),
    }
