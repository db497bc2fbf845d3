"""What a host is meant to be since the last apply, and what was agreed on beside it: holds, a wait for confirm, plans.

All of it is stored, so every class here is known on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numatune.settings.journal import LastSeen
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Plan, ProfileInfo, Remembered

PERSIST = "persist"
"""The section of what no profile asks for by name: files and units that bring the others back after a reboot."""


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
    program     by which a boot calls numatune, an argv; () where nothing survives a reboot
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
    program: tuple[str, ...] = ()

    @property
    def profiles(self) -> tuple[ProfileInfo, ...]:
        """Every profile that the set was made from."""
        return tuple(profile for part in self.parts for profile in part.profiles)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What is wanted."""
        return tuple(row.setting for row in self.rows)


@dataclass(frozen=True, slots=True)
class Revived:
    """A setting that is in force again since this boot: a rollback of the run that holds it gives its original back.

    run       the newest run that holds it; of one that no run had to write, the newest that can be taken back
    held      what the host held once all was written; None: begun and never read, or refused
    writes    what was begun; () once it was read
    missing   no run has it, so that what was there in this boot is the original: that setting, and its original
    learned   what this boot learned by trying
    """

    id: SettingId
    run: int
    held: str | None = None
    identity: str = ""
    writes: tuple[str, ...] = ()
    missing: Setting | None = None
    original: str | None = None
    learned: Remembered | None = None


@dataclass(frozen=True, slots=True)
class Boot:
    """What was made so again in one boot, outside of any run."""

    boot_id: str
    when: str
    rows: tuple[Revived, ...] = ()


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
    program   as of the applied set
    on_unmet  whether to stop before the first write where the host is not what is expected of it
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
    on_unmet: Literal["stop", "warn"] = "stop"
    released: tuple[str, ...] = ()
    applied: str = ""
    program: tuple[str, ...] = ()
