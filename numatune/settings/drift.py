"""What drift finds, as frozen data: a row of the plan with two letters.

First letter, since the last apply: blank same, M moved, D gone, R reset by a reboot, - never applied. Second, what
apply would do: blank nothing, M change, A create, X release, ! cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

from numatune.settings.journal import LastSeen
from numatune.settings.plan import Change, ProfileInfo


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One setting.

    last     how the last apply left it
    counted  it makes the exit code 2: it moved and is not as wanted, or apply would now change it
    repaired --repair put it back just now
    note     what --repair has to say about it
    """

    change: Change
    letters: str
    last: LastSeen | None = None
    counted: bool = False
    repaired: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """All rows, in the order of the plan.

    profiles  what was compared with
    stored    that was the applied set; False: profiles that were named
    since, run  when the last apply was, and its newest run (0: none)
    anew      why the stored set's values were worked out anew, "" when they were not
    rebooted  the host was restarted since the last apply
    """

    rows: tuple[DriftRow, ...]
    profiles: tuple[ProfileInfo, ...]
    stored: bool
    since: str = ""
    run: int = 0
    anew: str = ""
    rebooted: bool = False

    @property
    def counted(self) -> int:
        """How many rows count."""
        return sum(row.counted for row in self.rows)
