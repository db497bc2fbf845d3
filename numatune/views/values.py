"""How the values of a setting are shown: short spellings, never raw kernel text."""

from __future__ import annotations

from dataclasses import replace

from numatune.settings.codecs import Bounded, Int, shown
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change


def wanted(setting: Setting) -> str | None:
    """What the profile asks for, with its operator: ``>= 2097152``. None for a watched companion."""
    text = shown(setting.codec, setting.want)
    if isinstance(setting.codec, Bounded) and setting.codec.op != "=" and text is not None:
        return f"{setting.codec.op} {text}"
    return text


def asked(change: Change) -> str | None:
    """What this row wants: of a released setting its original, which is a value and no bound."""
    if change.action is Action.RELEASE:
        return shown(change.setting.codec, change.setting.want)
    return wanted(change.setting)


def giving_back(change: Change) -> Change:
    """A row of a rollback, without what the profile said of the value that goes away."""
    codec = replace(change.setting.codec, op="=") if isinstance(change.setting.codec, Int) else change.setting.codec
    return replace(change, setting=replace(change.setting, codec=codec, why="", note=""))


def current(change: Change) -> str | None:
    """What the host holds; None when nothing is there or it cannot be read."""
    return shown(change.setting.codec, change.seen.text)


def effective(change: Change) -> str | None:
    """What is in force, where the kernel tells that elsewhere."""
    return shown(change.setting.codec, change.seen.effective)


def held(change: Change, text: str | None) -> str | None:
    """`text`, read from the host, in the spelling of this setting."""
    return shown(change.setting.codec, text)
