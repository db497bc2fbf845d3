"""What the history shows, as frozen data: runs, and what a run did to each setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numatune.settings.journal import RunEnd, RunStart
from numatune.settings.model import Setting
from numatune.settings.plan import Action

RunState = Literal["in force", "taken back", "changed nothing", "cut off", "running", "incomplete", "done", "rebooted"]
"""Of an apply: is there anything to take back; of a rollback: is it done. `rebooted`: its live values are gone."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run. `end` None: it was cut off, or is still going on. `taken_back_by`: the rollback's number, 0 for none."""

    start: RunStart
    end: RunEnd | None
    state: RunState
    taken_back_by: int = 0


@dataclass(frozen=True, slots=True)
class PastRow:
    """What a run did to one setting: texts verbatim. `held` None: nothing was there, or the run never came to it."""

    setting: Setting
    action: Action
    before: str | None
    held: str | None
    errno: int = 0
    repairs: tuple[str, ...] = ()  # when a later repair put it back
