"""A second opinion as JSON: the rows of a plan, each with who was asked."""

from __future__ import annotations

from typing import Any

from numatune.settings.plan import Plan
from numatune.views import plan_json


def verified(said: Plan, anew: str) -> dict[str, Any]:
    """All rows. `verified_by`: what was asked; null where there was nothing to ask.

    `anew`: why the values are not those that are stored, "" when they are.
    """
    made = plan_json.plan(said)
    rows = [{**plan_json.row(change), "verified_by": change.seen.where or None} for change in said.rows]
    return {**made, "settings": rows, "worked_out_anew": anew}
