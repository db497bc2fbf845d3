"""sysctl.d and tmpfiles.d alone: the lines of early boot that apply --persist writes, and all that they leave out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from numatune.export import early
from numatune.export.tuning.model import Exported, File, Left, Tuning
from numatune.export.tuning.remarks import comments, remarks
from numatune.export.tuning.rows import movers
from numatune.settings.model import Setting, SettingId
from numatune.settings.persisted import SYSCTL_D, TMPFILES_D
from numatune.settings.targets import UnitState

Home = Literal["sysctl.d", "tmpfiles.d"]
_PATHS: dict[Home, str] = {"sysctl.d": SYSCTL_D, "tmpfiles.d": TMPFILES_D}
_READERS: dict[Home, str] = {"sysctl.d": "systemd-sysctl", "tmpfiles.d": "systemd-tmpfiles"}


def sysctl_d(tuning: Tuning) -> Exported:
    """For sysctl.d(5)."""
    return _alone(tuning, "sysctl.d", early.sysctl_d(tuning.wanted, tuning.place.ours))


def tmpfiles_d(tuning: Tuning) -> Exported:
    """For tmpfiles.d(5)."""
    return _alone(tuning, "tmpfiles.d", early.tmpfiles_d(tuning.wanted, tuning.place.ours))


def order(tuning: Tuning, carried: Collection[SettingId]) -> tuple[str, ...]:
    """What plain files leave to chance, of what they carry: who moves a value of theirs, and who sets it after them."""
    return (*_moved(tuning, carried), *_after(tuning, carried), *_units(tuning))


def _moved(tuning: Tuning, carried: Collection[SettingId]) -> Iterator[str]:
    """Values that another setting's write takes along, where the two are not lines of one file."""
    homes = {setting.id: setting.home for setting in tuning.wanted}
    for sid, by in movers(tuning.settings).items():
        for mover in by if sid in carried else ():
            if mover not in carried or homes[mover] != homes[sid]:
                yield f"{sid} is moved by the write of {mover}, which is no line of this file: nothing orders the two"


def _after(tuning: Tuning, carried: Collection[SettingId]) -> Iterator[str]:
    wanted = {setting.id for setting in tuning.wanted}
    for setting in tuning.wanted:
        for before in (*setting.after, *([setting.needs] if setting.needs else [])):
            if setting.id in carried and before in wanted and before not in carried:
                yield f"{setting.id} is to be written after {before}, which is no line of this file"


def _units(tuning: Tuning) -> Iterator[str]:
    """Units that the set stops, and that set things themselves."""
    stopped = dict.fromkeys(one.target.unit for one in tuning.wanted if isinstance(one.target, UnitState))
    if stopped:
        yield f"{', '.join(stopped)}: not stopped by a plain file, so what they set comes after it"


def _alone(tuning: Tuning, home: Home, text: str) -> Exported:
    carried = [one for one in tuning.wanted if one.home == home and not early.unkept(one)]
    left = tuple(Left(one.id, _why(one, home)) for one in tuning.wanted if one not in carried)
    chance = order(tuning, {one.id for one in carried})
    lines = text.partition("\n")[2]
    return Exported(
        files=(File(_PATHS[home], f"{tuning.place.ours}\n{comments(remarks(left, chance))}{lines}"),),
        carries=tuple(one.id for one in carried),
        left=left,
        order=chance,
        then=(f"{_READERS[home]} reads it at boot",),
    )


def _why(setting: Setting, home: Home) -> str:
    reason = early.unkept(setting)
    return reason or f"it is for {setting.home}, not for {home}"
