"""Holds for people and for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from numatune.settings.applied import Hold

FORMAT = 1


def as_text(holds: Sequence[Hold], *, ended: bool = False) -> str:
    """One line a hold."""
    if not holds:
        return "Nothing was held." if ended else "Nothing is held."
    width = max(len(_named(hold)) for hold in holds)
    return "\n".join(f"{_named(hold):{width}}  {_told(hold, ended=ended)}" for hold in holds)


def as_json(holds: Sequence[Hold], *, ended: bool = False) -> dict[str, Any]:
    """`ended`: these are the holds that were ended just now."""
    return {"format": FORMAT, "ended" if ended else "holds": [dataclasses.asdict(hold) for hold in holds]}


def _named(hold: Hold) -> str:
    return "every setting" if hold.id == "*" else hold.id


def _told(hold: Hold, *, ended: bool) -> str:
    until = hold.until.replace("T", " ").replace("Z", " UTC")
    text = f"no longer held by {hold.who}" if ended else f"held by {hold.who} until {until}"
    return f"{text}: {hold.why}" if hold.why else text
