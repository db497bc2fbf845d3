"""The only read of current values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from numatune.engine import conflicts, guards, kinds
from numatune.host.once import AskedOnce
from numatune.host.protocol import Reader
from numatune.host.uncaptured import lacks
from numatune.settings.codecs import meets
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Observation
from numatune.settings.targets import Target


def flat(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Settings and their companions, each target once; what is asked for wins over what is only watched.

    All that is asked for stays: several rows may check one command line, or say the same of what is not here.
    """
    out = list(settings)
    found: dict[Target, Setting] = {setting.target: setting for setting in out}
    todo = out
    while todo:
        companions = {companion.target: companion for setting in todo for companion in setting.companions}
        todo = [companion for target, companion in companions.items() if target not in found]
        found |= {companion.target: companion for companion in todo}
        out = [*out, *todo]
    return tuple(out)


def observe(
    settings: Iterable[Setting], reader: Reader, *, name_conflicts: bool = True
) -> dict[SettingId, Observation]:
    """What the host holds for each setting, with guards evaluated.

    `name_conflicts`: also name who else sets it, for which configuration files and the process list are read.
    """
    wanted, once = tuple(settings), AskedOnce(reader)
    seen = {setting.id: look(setting, once) for setting in wanted}
    return conflicts.named(wanted, seen, once) if name_conflicts else seen


def look(setting: Setting, reader: Reader) -> Observation:
    """What the host holds for one setting; its guard is asked only where the wanted value is not held."""
    seen = kinds.look(setting, reader)
    if seen.text is None and lacks(seen.where, reader):
        seen = replace(seen, not_captured=True)
    if setting.guard is None or setting.want is None:
        return seen
    if seen.text is not None and meets(setting.codec, setting.want, seen.text):
        return seen
    return replace(seen, unsafe=guards.figure(setting.guard, setting.want, seen.text, reader))
