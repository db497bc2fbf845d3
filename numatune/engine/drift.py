"""Drift: what has moved since the last apply, and what apply would do about it. Pure."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Mapping
from typing import assert_never

from numatune.settings.applied import AppliedRow
from numatune.settings.codecs import agree, alike
from numatune.settings.drift import DriftRow
from numatune.settings.journal import LastSeen
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import AS_WANTED, Action, Change, Status, counts, is_row
from numatune.settings.targets import (
    Cgroup,
    Fact,
    Folder,
    HugepagePool,
    IrqAffinity,
    KernelFile,
    Module,
    Mount,
    MountOption,
    Nothing,
    OwnedFile,
    Target,
    Trait,
    UnitProperty,
    UnitState,
)

_TRIED = frozenset({Status.DENIED, Status.FAILED, Status.UNCHANGEABLE})
"""Apply would try again and be told the same again."""

_GONE = frozenset({0, errno.ENOENT, errno.ENOTDIR, errno.ENODEV})

SAME, MOVED, GONE, RESET, NEVER = " ", "M", "D", "R", "-"
NOTHING, CHANGE, CREATE, RELEASE, CANNOT = " ", "M", "A", "X", "!"


def outlives_reboot(target: Target) -> bool:
    """Whether what was written there is still there after a reboot."""
    match target:
        case OwnedFile() | Folder():
            return True
        case Trait():
            return True  # a boot resets nothing of the hardware: what is otherwise then has moved
        case UnitProperty(runtime=runtime):
            return not runtime
        case UnitState(aspect=aspect):
            return aspect != "active"
        case (
            Mount()
            | MountOption()
            | KernelFile()
            | HugepagePool()
            | IrqAffinity()
            | Cgroup()
            | Module()
            | Fact()
            | Nothing()
        ):
            return False
        case _:
            assert_never(target)


def compare(
    changes: Iterable[Change],
    applied: Mapping[SettingId, AppliedRow],
    owed: Collection[SettingId] = (),
    *,
    rebooted: bool = False,
    revived: Collection[SettingId] = (),
) -> tuple[DriftRow, ...]:
    """Rows of a plan, in which holds are respected, with their letters.

    owed     no longer wanted since the last apply, which could not give them back; what is still in the plan of it is
             as that apply left it
    revived  made so again since the reboot: what differs of these, somebody moved
    """

    def letters(change: Change) -> DriftRow:
        sid = change.setting.id
        reset = rebooted and sid not in revived
        return _owed(change) if sid in owed else _row(change, applied.get(sid), rebooted=reset)

    return tuple(letters(change) for change in changes if is_row(change))


def _row(change: Change, before: AppliedRow | None, *, rebooted: bool) -> DriftRow:
    last = before.last if before else None
    first, second = since_apply(change, last, rebooted=rebooted), would(change)
    told = before is not None and first == SAME and _told(change, before)
    counted = second == RELEASE or (counts(change.setting, change.status) and not told)
    return DriftRow(change, first + second, last, counted=counted and not change.held)


def _owed(change: Change) -> DriftRow:
    second = would(change)
    return DriftRow(change, SAME + second, counted=second == RELEASE)


def _told(change: Change, before: AppliedRow) -> bool:
    """Whether the last apply reported that this wish was not, or not wholly, fulfilled, and nothing is new about that.

    What it left alone and apply would now change is new: a hold has ended, running work has gone, a unit is there.
    """
    last = before.last
    if last is None or last.status in AS_WANTED or not _same_wish(change.setting, before.setting):
        return False
    return change.action is Action.NONE or last.status in _TRIED


def _same_wish(a: Setting, b: Setting) -> bool:
    if a.want is None or b.want is None or a.codec != b.codec:
        return a.want == b.want
    return agree(a.codec, a.want, b.want)


def since_apply(change: Change, last: LastSeen | None, *, rebooted: bool) -> str:
    """The first letter. Of what cannot be read (by this caller, or now) nothing is known; the second letter tells."""
    if last is None:
        return NEVER
    now = change.seen.text
    if alike(change.setting.codec, last.held, now) or (now is None and change.seen.errno not in _GONE):
        return SAME
    if rebooted and not outlives_reboot(change.setting.target):
        return RESET
    return GONE if now is None else MOVED


def would(change: Change) -> str:
    """The second letter."""
    match change.action:
        case Action.NONE:
            return NOTHING if change.status in AS_WANTED else CANNOT
        case Action.CREATE:
            return CREATE
        case Action.RELEASE:
            return RELEASE
        case Action.UPDATE | Action.DELETE | Action.REMOUNT | Action.RESTART:
            return CHANGE
        case _:
            assert_never(change.action)
