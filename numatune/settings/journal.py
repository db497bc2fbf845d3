"""What a run writes down, one JSON line each, append only; a torn last line is ignored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numatune.settings.model import Setting
from numatune.settings.plan import Action, ProfileInfo, Status

FORMAT = 2
"""Version of the journal and of the stored set. A newer numatune reads all older ones."""

RunKind = Literal["apply", "repair", "rollback"]


@dataclass(frozen=True, slots=True)
class RunStart:
    """Head of a run. `when`: UTC, ISO 8601. `who`: the login name behind sudo. `undoes`: what a rollback takes back."""

    run: int
    kind: RunKind
    when: str
    who: str
    pid: int
    boot_id: str
    profiles: tuple[ProfileInfo, ...] = ()
    why: str = ""
    undoes: tuple[int, ...] = ()
    version: str = ""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Intent:
    """What will be written. `before`: verbatim; None: was not there. `action` NONE: a companion, given back with it."""

    seq: int
    setting: Setting
    before: str | None
    action: Action
    writes: tuple[str, ...]
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """All intents are on disk (fsync of file and folder): from here on the host may be written."""


@dataclass(frozen=True, slots=True)
class Ack:
    """After each write (`final` False), and once more for every entry after all writes: what the host holds then."""

    seq: int
    errno: int
    held: str | None
    final: bool = False
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A later repair put this setting of the run back."""

    id: str
    when: str
    moved_to: str | None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The run came to its end. `spared`: ids that a rollback left alone, because somebody else holds them now."""

    result: Literal["done", "failed", "incomplete"]
    changed: int = 0
    spared: tuple[str, ...] = ()
    counted: int = 0


Record = RunStart | Intent | Ready | Ack | Repaired | RunEnd


@dataclass(frozen=True, slots=True)
class Owned:
    """fold(records): what numatune holds on this host and what to give back.

    in_doubt  the run was cut off while this one was being written (at most one a run): `writes` may hold, or not
    coupled   the run was cut off after a write that moves this one too, and before that was read: any value may be ours
    also      what it holds since it was made so again in this boot
    """

    setting: Setting
    original: str | None
    held: str | None
    run: int
    boot_id: str
    in_doubt: bool = False
    coupled: bool = False
    writes: tuple[str, ...] = ()
    identity: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastSeen:
    """How the last apply left one row of the applied set: what drift compares with."""

    status: Status
    held: str | None
    reason: str = ""
