"""What a host is meant to be since the last apply, and what was agreed on beside it: holds, a wait for confirm, plans.

All of it is stored, so every class here is known on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numatune.settings.journal import LastSeen
from numatune.settings.model import Setting
from numatune.settings.plan import Plan, ProfileInfo, Remembered


@dataclass(frozen=True, slots=True)
class Part:
    """Profiles that were applied together.

    stored  name and text of every file they were made from, and the variables: enough to work the values out anew
    only, skip  the sections that were asked for, or left out; () for all, or none
    allow_disruption  the profile itself says ``disruption: allow``
    """

    profiles: tuple[ProfileInfo, ...]
    stored: tuple[tuple[str, str], ...]
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    allow_disruption: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its profiles: what ``--add`` of the same profiles replaces."""
        return tuple(profile.name for profile in self.profiles)


@dataclass(frozen=True, slots=True)
class AppliedRow:
    """A resolved setting, how the last apply left it (None: never applied), and what it learned by trying."""

    setting: Setting
    last: LastSeen | None = None
    remembered: Remembered | None = None


@dataclass(frozen=True, slots=True)
class AppliedSet:
    """What the host is meant to be.

    interrupts  of each device that a row names: its interrupts as "number/index", in order of the numbers
    run         the newest run when it was stored, 0 for none
    owed        no longer wanted, and not given back yet: held, or running work stands on it
    """

    parts: tuple[Part, ...]
    rows: tuple[AppliedRow, ...]
    boot_id: str
    fingerprint: str
    interrupts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    when: str = ""
    who: str = ""
    why: str = ""
    run: int = 0
    version: str = ""
    owed: tuple[Setting, ...] = ()

    @property
    def profiles(self) -> tuple[ProfileInfo, ...]:
        """Every profile that the set was made from."""
        return tuple(profile for part in self.parts for profile in part.profiles)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What is wanted."""
        return tuple(row.setting for row in self.rows)


@dataclass(frozen=True, slots=True)
class Hold:
    """Leave this setting as it is until then. `id` "*": every setting."""

    id: str
    who: str
    since: str
    until: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Holds:
    """The holds of a host, by id."""

    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that is taken back unless somebody confirms it in time.

    unit     the transient timer's name without its suffix, where systemd waits
    pid, started  the waiting process and its start time in clock ticks since boot (/proc/PID/stat, field 22), else
    undone   when the run was taken back; "" while it waits
    """

    run: int
    until: str
    who: str
    boot_id: str
    method: Literal["systemd", "process"]
    unit: str = ""
    pid: int = 0
    started: str = ""
    undone: str = ""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan and all that carrying it out needs, made to be read again.

    since     the newest run when it was made: any run after it moved the host
    applied   the name of the applied set then: the plan is worked out against it
    released  the rows that are no longer wanted, whether or not they can be given back now
    """

    plan: Plan
    parts: tuple[Part, ...]
    since: int = 0
    add: bool = False
    keep_released: bool = False
    allow_disruption: bool = False
    allow_unsafe: tuple[str, ...] = ()
    retry: bool = False
    on_error: Literal["continue", "rollback"] = "continue"
    released: tuple[str, ...] = ()
    applied: str = ""
