"""Profiles for people: which there are, and what one of them wants of a host."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.settings.codecs import Bounded, shown
from numatune.settings.model import Setting
from numatune.settings.targets import Nothing
from numatune.views.style import Style


def listing(rows: Sequence[tuple[str, str, str, str]], style: Style) -> str:
    """One line a profile: (name, where from, version, summary)."""
    shown = [tuple(map(style.spell, row)) for row in rows]
    widths = [max((len(row[column]) for row in shown), default=0) for column in range(3)]
    lines = []
    for name, origin, version, summary in shown:
        head = f"{style.paint(f'{name:{widths[0]}}', 'bold')}  {origin:{widths[1]}}  {version:{widths[2]}}"
        lines.append(f"{head}  {summary}".rstrip())
    return "\n".join(lines)


def wanted(settings: Sequence[Setting], style: Style) -> str:
    """Each setting with what is wanted, why and where that is written."""
    lines: list[str] = []
    for section in dict.fromkeys(setting.section for setting in settings):
        lines += ["", style.paint(section, "bold")]
        for setting in (each for each in settings if each.section == section):
            name = style.spell(str(setting.id).partition(":")[2])
            lines.append(f"  {name}  {style.paint(style.spell(value(setting)), 'green')}  ({setting.source})")
            told = "; ".join(filter(None, (_aside(setting), setting.why, setting.note)))
            lines += [style.paint(f"      {piece}", "dim") for piece in style.wrap(style.spell(told), 6)]
    return "\n".join(lines).lstrip("\n")


def value(setting: Setting) -> str:
    """What is wanted, with its operator."""
    text = shown(setting.codec, setting.want) or ""
    operator = setting.codec.op if isinstance(setting.codec, Bounded) else "="
    return text if operator == "=" else f"{operator} {text}"


def _aside(setting: Setting) -> str:
    if isinstance(setting.target, Nothing):
        return f"{setting.target.status}: {setting.target.reason}"
    return "optional" if setting.optional else ""
