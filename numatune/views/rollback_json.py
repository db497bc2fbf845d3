"""A rollback as JSON: the rows of a plan with what came of them, and what is spared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Outcome, Plan, Status
from numatune.views.plan_json import row
from numatune.views.values import giving_back

FORMAT = 1


def report(
    runs: Sequence[int],
    made: Plan,
    outcomes: Mapping[SettingId, Outcome],
    spared: Sequence[tuple[str, str]],
    run: int | None,
) -> dict[str, Any]:
    """`runs`: what is taken back. `run`: the rollback's own number, None when there was nothing to take back."""
    rows = [giving_back(change) for change in made.changes if change.action is not Action.NONE]
    back = sum(outcome.status is Status.OK for change in rows if (outcome := outcomes.get(change.setting.id)))
    return {
        "format": FORMAT,
        "run": run,
        "takes_back": list(runs),
        "settings": [row(change, outcomes.get(change.setting.id)) for change in rows],
        "spared": [{"id": name, "reason": reason} for name, reason in spared],
        "summary": {"settings": len(rows), "given_back": back, "spared": len(spared)},
    }
