"""What a setting is, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numatune.views import plan_json
from numatune.views.explained import Explained

FORMAT = 1


def explained(things: Sequence[Explained]) -> dict[str, Any]:
    """Everything that was asked about, in that order. `setting`: its row, null when no profile asks for it."""
    return {"format": FORMAT, "explained": [_one(thing) for thing in things]}


def _one(thing: Explained) -> dict[str, Any]:
    return {
        "title": thing.title,
        "known": [{"heading": heading, "text": text} for heading, text in thing.known],
        "check": thing.check or None,
        "setting": plan_json.row(thing.change) if thing.change else None,
    }
