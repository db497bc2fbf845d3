"""What was seen, what would be done, and what came of it: the words of plan, apply, verify and drift as frozen data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from numatune.settings.model import Impact, Setting, SettingId
from numatune.settings.words import Word

FORMAT = 1
"""Version of the plan's JSON."""


NOT_CAPTURED = "not in this captured tree"
"""Why a row is unsupported of which nobody knows whether the host has it."""


class Status(Word):
    """What the host holds, judged as root would find it, whoever asks."""

    OK = "ok", "the host holds the wanted value"
    DRIFTED = "drifted", "it differs and root could change it"
    PENDING = "pending", "written, in force at the kernel's next event (an idle interrupt)"
    UNSUPPORTED = "unsupported", "this kernel or host has no such knob, or the thing vanished"
    UNCHANGEABLE = "unchangeable", "the kernel owns it (a managed interrupt)"
    DENIED = "denied", "read-only mount, lockdown, or unreadable for this caller"
    CLAMPED = "clamped", "the write succeeded, the kernel holds another value"
    FAILED = "failed", "the write was refused for another reason (errno named)"
    REBOOT = "reboot", "wanted on the kernel command line, not there yet"
    UNMET = "unmet", "expected of the hardware, and it is otherwise: nothing that is written changes it"
    NOT_APPLICABLE = "not-applicable", "`when` is not met, or a rule matches nothing"


AS_WANTED = frozenset({Status.OK, Status.PENDING, Status.NOT_APPLICABLE})
"""Of what a person need not know more."""

_COUNTED = frozenset(
    {
        Status.DRIFTED,
        Status.UNSUPPORTED,
        Status.DENIED,
        Status.CLAMPED,
        Status.FAILED,
        Status.REBOOT,
        Status.UNMET,
    }
)


class Action(Word):
    """What apply would do."""

    NONE = "none", "nothing"
    CREATE = "create", "make what is not there yet"
    UPDATE = "update", "write another value"
    DELETE = "delete", "take away what is there"
    REMOUNT = "remount", "mount again with other options"
    RESTART = "restart", "restart a unit under `services:`"
    RELEASE = "release", "give back the original of what the applied set no longer wants"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else who sets this too. `where`: file:line, unit, pid."""

    owner: str
    where: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What the host holds for one setting.

    text      verbatim, rollback gives it back; None: see errno
    where     what was really read: /proc/irq/57/smp_affinity_list
    identity  interrupt number, cgroup inode: read again just before the write; of a file of ours that is not there, the
              deepest folder on the way to it that is
    effective what is in force, where another file tells it
    writable  False when mode bits, a read-only mount or lockdown say no; None: only trying would tell
    in_use    running work stands on it: decides the impact; `users` names it (units, pids with comm)
    unsafe    the guard's figure when the wanted value is beyond it
    hands_off why numatune does not change it although it differs (a process that is no unit's): drifted, no action
    not_reached  who has its own of what would change, so that the change is none for it (containers, units)
    not_captured  a captured tree does not reach to where it would be, so nobody knows whether the host has it
    """

    text: str | None
    errno: int = 0
    where: str = ""
    identity: str = ""
    effective: str | None = None
    pending: bool = False
    writable: bool | None = None
    in_use: bool = False
    users: tuple[str, ...] = ()
    unsafe: str = ""
    hands_off: str = ""
    not_reached: tuple[str, ...] = ()
    not_captured: bool = False
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a plan. `writes`: exact texts, in order; () with an action: a partner's write does it."""

    setting: Setting
    seen: Observation
    status: Status
    action: Action = Action.NONE
    writes: tuple[str, ...] = ()
    impact: Impact = Impact.LIVE
    restart_needed: tuple[str, ...] = ()
    reason: str = ""  # explains, never steers
    held: str = ""  # somebody's hold on it, in words: left alone and not counted


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """Which profile asked: its name, its free version text and a hash over everything that it was made from."""

    name: str
    version: str
    hash: str


@dataclass(frozen=True, slots=True)
class HostInfo:
    """Which host: enough for a reader of a plan to recognise it. `root`: "/" or the captured tree."""

    root: str
    kernel: str
    arch: str
    nodes: str
    cpus: str
    boot_id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The full difference, in the order of writing, watched companions included.

    notes  for people: which profile's value took the place of another's
    """

    profiles: tuple[ProfileInfo, ...]
    host: HostInfo
    changes: tuple[Change, ...]
    format: int = FORMAT
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Change, ...]:
        """What a person asked for, or no longer asks for: everything but the watched companions."""
        return tuple(change for change in self.changes if is_row(change))

    @property
    def to_do(self) -> tuple[Change, ...]:
        """What apply would write."""
        return tuple(change for change in self.changes if change.action is not Action.NONE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one row: `before` and `held` verbatim. `held`, `effective`, `conflicts`: after all writes."""

    id: SettingId
    status: Status
    before: str | None
    wrote: tuple[str, ...]
    held: str | None
    errno: int = 0
    changed: bool = False  # held differs from before; a retry that got nowhere is no change
    reason: str = ""
    effective: str | None = None
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an earlier apply learned of a setting by trying: clamped, or unchangeable until the next boot."""

    status: Status
    want: str
    held: str | None
    boot_id: str


def is_row(change: Change) -> bool:
    """Whether people are shown this change: a released thing that goes away has no wanted value either."""
    return change.setting.want is not None or change.action is Action.RELEASE


def counts(setting: Setting, status: Status, *, applying: bool = False) -> bool:
    """Whether a row makes the exit code 2. `applying`: apply itself does not count `reboot`."""
    if setting.optional is True or setting.want is None:
        return False
    if status is Status.UNCHANGEABLE:
        return setting.optional is False
    if status is Status.REBOOT:
        return not applying
    return status in _COUNTED


def counted(status: Status) -> str:
    """The same in words, for a setting that says nothing of `optional`."""
    match status:
        case Status.UNCHANGEABLE:
            return "no, unless `optional: false`"
        case Status.REBOOT:
            return "yes, except by apply"
        case _:
            return "yes" if status in _COUNTED else "no"


def differences(changes: Iterable[Change]) -> int:
    """How many rows of a plan count."""
    return sum(
        change.action is Action.RELEASE or counts(change.setting, change.status)
        for change in changes
        if not change.held
    )
