"""What would have to be done so that the host is as wanted. Pure: settings and what was seen in, rows out."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from numatune.engine import kinds
from numatune.engine.kinds import refusals, systemctl
from numatune.engine.order import order
from numatune.settings.codecs import Cmdline, agree, meets, shown
from numatune.settings.model import Impact, Setting, SettingId
from numatune.settings.plan import NOT_CAPTURED, Action, Change, Observation, Remembered, Status
from numatune.settings.targets import (
    DEBUGFS,
    PLACES,
    Fact,
    IrqAffinity,
    KernelFile,
    MountOption,
    Nothing,
    OwnedFile,
    Trait,
    UnitProperty,
    UnitState,
)

Seen = Mapping[SettingId, Observation]

_MADE = (*PLACES, OwnedFile)
ALL_OF_DEBUGFS = "debugfs"
_ABSENT = frozenset({0, errno.ENOENT, errno.ENOTDIR})


@dataclass(frozen=True, slots=True)
class Options:
    """What the user allows.

    allow_unsafe  settings by id; "debugfs" for all that lie there
    retry         tries again what was refused or clamped before
    """

    allow_disruption: bool = False
    allow_unsafe: frozenset[str] = frozenset()
    retry: bool = False


def diff(
    settings: Sequence[Setting],
    seen: Seen,
    options: Options,
    remembered: Mapping[SettingId, Remembered] | None = None,
) -> tuple[Change, ...]:
    """One row a setting, in the order of writing. `remembered`: what was learned by trying, since this boot only."""
    known = remembered or {}
    by_id = {setting.id: setting for setting in settings}
    rows: dict[SettingId, Change] = {}
    for setting in settings:
        chain = [setting]
        while chain[-1].needs in by_id and chain[-1].needs not in rows and len(chain) <= len(by_id):
            chain.append(by_id[chain[-1].needs])
        for one in reversed(chain):
            if one.id not in rows:
                maker = rows.get(one.needs) if one.needs else None
                rows[one.id] = row(one, seen[one.id], options, known.get(one.id), maker)
    return order([rows[setting.id] for setting in settings])


def row(
    setting: Setting,
    seen: Observation,
    options: Options,
    remembered: Remembered | None = None,
    maker: Change | None = None,
) -> Change:
    """The row of one setting. `maker`: the row of the setting that makes its target."""
    if isinstance(setting.target, Nothing):
        return Change(setting, seen, Status(setting.target.status), reason=setting.target.reason)
    if setting.want is None:
        return Change(setting, seen, Status.OK, reason="watched")
    if seen.text is None:
        return _absent(setting, seen, options, maker)
    if isinstance(setting.target, PLACES) or meets(setting.codec, setting.want, seen.text):
        return _held(setting, setting.want, seen)
    return _differs(setting, setting.want, seen, options, remembered)


def _differs(setting: Setting, want: str, seen: Observation, options: Options, remembered: Remembered | None) -> Change:
    """A row whose text is not as wanted."""
    have = seen.text or ""
    if isinstance(setting.codec, Cmdline):
        return Change(setting, seen, Status.REBOOT, reason="needs the kernel command line and a reboot")
    if isinstance(setting.target, Fact | Trait):
        return Change(setting, seen, Status.UNMET, reason=setting.target.cause or "nothing that is written changes it")
    if seen.writable is False:
        return _refused(setting, seen, kinds.refusal(setting.target, seen.errno or errno.EACCES))
    if remembered and not options.retry and _still(setting, want, have, remembered):
        return Change(setting, seen, remembered.status, reason=_learned(setting, remembered))
    action = Action.REMOUNT if isinstance(setting.target, MountOption) else Action.UPDATE
    change = Change(setting, seen, Status.DRIFTED, action, setting.codec.spell(want, have))
    return allowed(change, options)


def _absent(setting: Setting, seen: Observation, options: Options, maker: Change | None) -> Change:
    """A row whose target is not there, or cannot be read."""
    if refusal := _out_of_reach(setting, seen):
        return _refused(setting, seen, refusal)
    if maker is not None and maker.seen.pending and (maker.action is not Action.NONE or maker.status is Status.PENDING):
        return Change(setting, seen, Status.PENDING, reason=f"{_why_absent(setting)}: apply again then")
    if maker is not None and maker.action is Action.NONE and maker.status is not Status.OK:
        return Change(setting, seen, maker.status, reason=f"waits for {maker.setting.id}")
    if isinstance(setting.target, _MADE):
        writes = setting.codec.spell(setting.want or "", None) if isinstance(setting.target, OwnedFile) else ()
        return allowed(Change(setting, seen, Status.DRIFTED, Action.CREATE, writes), options)
    if maker is not None and maker.action is not Action.NONE:
        comes = f"is there once {maker.setting.id} is"
        writes = setting.codec.spell(setting.want or "", None)
        seen = replace(seen, in_use=maker.seen.in_use, users=maker.seen.users)  # whoever is there will be in this too
        return allowed(Change(setting, seen, Status.DRIFTED, Action.UPDATE, writes, reason=comes), options)
    why = NOT_CAPTURED if seen.not_captured else _why_absent(setting)
    return Change(setting, seen, Status.UNSUPPORTED, reason=why)


def _out_of_reach(setting: Setting, seen: Observation) -> tuple[Status, str] | None:
    """Why nothing can be done about what is not there, None when it can be made, or just is not there."""
    if isinstance(setting.target, _MADE) and seen.writable is False:
        return kinds.refusal(setting.target, seen.errno if seen.errno not in _ABSENT else errno.EACCES)
    if isinstance(setting.target, UnitProperty | UnitState):
        return systemctl.unknown(seen.errno)
    if seen.errno not in _ABSENT:
        status = Status.DENIED if seen.errno in {errno.EACCES, errno.EPERM, errno.EROFS} else Status.FAILED
        known = refusals.of(setting.target) if isinstance(setting.target, KernelFile) else {}
        why = f": {known[seen.errno][1]}" if seen.errno in known else ""
        return status, f"cannot be read ({errno.errorcode.get(seen.errno, str(seen.errno))}){why}"
    return None


def _why_absent(setting: Setting) -> str:
    match setting.target:
        case KernelFile(absent=str(known)) | Fact(absent=str(known)) if known:
            return known
        case KernelFile():
            return "this kernel has no such file"
        case IrqAffinity():
            return "the device has no such interrupt"
        case Trait():
            return "this host does not tell"
        case _:
            return "this host has no such thing"


def _held(setting: Setting, want: str, seen: Observation) -> Change:
    """A row whose text is as wanted: in force, in force later, or never."""
    if seen.pending:
        unit = setting.target.unit if isinstance(setting.target, UnitProperty) else ""
        reason = f"in force once {unit} starts" if unit else "in force at the next interrupt"
        return Change(setting, seen, Status.PENDING, reason=reason)
    if isinstance(setting.target, KernelFile | UnitProperty) and seen.effective is not None:
        wanted = shown(setting.codec, want)
        if wanted and not meets(setting.codec, want, seen.effective):
            reason = f"asked {wanted}, in force {shown(setting.codec, seen.effective) or 'nothing'}"
            return Change(setting, seen, Status.CLAMPED, reason=reason)
    return Change(setting, seen, Status.OK)


def _refused(setting: Setting, seen: Observation, refusal: tuple[Status, str]) -> Change:
    status, why = refusal
    return Change(setting, seen, status, reason=why)


def _still(setting: Setting, want: str, have: str, remembered: Remembered) -> bool:
    """Whether what was learned is still true: the same was wanted, and the host holds what it held then."""
    held = remembered.held
    return agree(setting.codec, remembered.want, want) and held is not None and agree(setting.codec, held, have)


def _learned(setting: Setting, remembered: Remembered) -> str:
    if remembered.status is Status.CLAMPED:
        held = shown(setting.codec, remembered.held)
        return f"asked {shown(setting.codec, remembered.want)}, the kernel held {held}; --retry asks again"
    return "the kernel refused it before; --retry asks again"


def allowed(change: Change, options: Options) -> Change:
    """The change with its impact; without its action where it needs a leave that was not given. A release too."""
    setting, seen = change.setting, change.seen
    impact = setting.impact
    if seen.in_use and setting.impact_in_use:
        impact = setting.impact_in_use
    if options.allow_disruption and setting.impact_allowed:
        impact = setting.impact_allowed
    users = seen.users if impact is Impact.NEW_PROCESSES else ()
    change = replace(change, impact=impact, restart_needed=users)
    against = ""
    if seen.hands_off:
        against = seen.hands_off
    elif seen.unsafe and not options.allow_unsafe & _leaves(setting).keys():
        against = f"{seen.unsafe}; {list(_leaves(setting).values())[-1]} writes it all the same"
    elif impact is Impact.DISRUPTS and not options.allow_disruption:
        stands = f" ({', '.join(seen.users)})" if seen.users else ""
        against = f"would disrupt running work{stands}; --allow-disruption does it all the same"
    return replace(change, action=Action.NONE, writes=(), reason=against) if against else change


def _leaves(setting: Setting) -> dict[str, str]:
    """What in `allow_unsafe` lets a setting be written beyond its guard, with the option that says so; best last."""
    leaves = {str(setting.id): f"--allow-unsafe {setting.id}"}
    in_debugfs = isinstance(setting.target, KernelFile) and setting.target.paths[0].startswith(DEBUGFS)
    return leaves | {ALL_OF_DEBUGFS: "--allow-debugfs"} if in_debugfs else leaves
