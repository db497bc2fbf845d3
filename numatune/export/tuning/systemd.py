"""What apply --persist installs, with the exported script in numatune's stead, and drop-ins for what units may use.

A slice's CPUs and memory are its own to say: a drop-in holds them from the first process on. Everything else is
written in order by the script, which numatune-boot.service calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numatune.export import early, persist
from numatune.export.tuning import plain, script
from numatune.export.tuning.model import Exported, File, Left, Tuning
from numatune.settings.model import Refuse, Setting
from numatune.settings.persisted import HOOK, UDEV_RULES, UNITS
from numatune.settings.targets import Nothing, OwnedFile, UnitProperty, UnitState

DROP_IN = "50-numatune.conf"
_SECTIONS = {"slice": "Slice", "service": "Service", "scope": "Scope"}


def export(tuning: Tuning) -> Exported:
    """The script, the units that call it, drop-ins, and the files of early boot."""
    alone = script.export(tuning)
    rows = persist.settings(tuning.wanted, tuning.place)
    files = [_file(one.target, one.want or "") for one in rows if isinstance(one.target, OwnedFile)]
    enabled = [one.target.unit for one in rows if isinstance(one.target, UnitState) and one.target.aspect == "enabled"]
    dropped = list(drop_ins(tuning))
    lines = [one.id for one in tuning.wanted if not early.unkept(one)]
    return Exported(
        files=(*files, *dropped, *alone.files),
        carries=alone.carries,
        left=(*alone.left, *(Left(one.id, one.target.reason) for one in rows if isinstance(one.target, Nothing))),
        order=tuple(f"{said}; numatune-boot.service has the last word" for said in plain.order(tuning, lines)),
        then=(
            f"systemctl daemon-reload && systemctl enable {' '.join(enabled)}",
            f"the way back: {_disabling(enabled, files)}sh {script.PATH} rollback, then remove the other files",
            *persist.notes(tuning.wanted, tuning.place),
        ),
    )


def calls(file: File) -> bool:
    """Whether it has the script called on events: the rule of udev, and the hooks."""
    return file.path == UDEV_RULES or file.path.endswith(f"/{HOOK}")


def _disabling(enabled: Sequence[str], files: Sequence[File]) -> str:
    """What would apply all of it again goes first."""
    stopped = f"systemctl disable --now {' '.join(enabled)}, " if enabled else ""
    events = " ".join(one.path for one in files if calls(one))
    return f"{stopped}{f'rm {events}, ' if events else ''}"


def _file(target: OwnedFile, text: str) -> File:
    return File(target.path, text, target.mode)


def drop_ins(tuning: Tuning) -> Iterator[File]:
    """One file a unit, with what its guard rails let through: whatever disrupts does so before the unit has started."""
    by_unit: dict[str, list[Setting]] = {}
    for setting in tuning.wanted:
        held_back = isinstance(setting.guard, Refuse) and setting.id not in tuning.allow_unsafe
        if isinstance(setting.target, UnitProperty) and not held_back:
            by_unit.setdefault(setting.target.unit, []).append(setting)
    for unit, settings in by_unit.items():
        section = _SECTIONS.get(unit.rpartition(".")[2])
        if section:
            yield File(f"{UNITS}/{unit}.d/{DROP_IN}", f"{tuning.place.ours}\n[{section}]\n{_lines(settings)}")


def _lines(settings: Sequence[Setting]) -> str:
    return "".join(
        f"{one.target.name}={one.codec.spell(one.want or '', None)[-1]}\n"
        for one in settings
        if isinstance(one.target, UnitProperty)
    )
