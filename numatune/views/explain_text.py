"""What a setting is, for people: what is known of it anywhere, and what holds here."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.settings.plan import Change
from numatune.views.explained import Explained
from numatune.views.style import Style
from numatune.views.values import current, effective, wanted

_INDENT = 15


def explained(things: Sequence[Explained], style: Style) -> str:
    """All of them, a blank line between."""
    return "\n\n".join("\n".join(_one(thing, style)) for thing in things)


def _one(thing: Explained, style: Style) -> list[str]:
    lines = [style.paint(style.spell(thing.title), "bold")]
    facts = [*thing.known, *(_here(thing.change) if thing.change else ())]
    if thing.check:
        facts.append(("look yourself", thing.check))
    for heading, text in facts:
        first, *rest = [piece for line in text.split("\n") for piece in style.wrap(style.spell(line), _INDENT + 2)] or [
            ""
        ]
        lines.append(f"  {style.paint(f'{heading:{_INDENT - 2}}', 'cyan')}  {first}")
        lines += [" " * (_INDENT + 2) + piece for piece in rest]
    return lines


def _here(change: Change) -> list[tuple[str, str]]:
    setting, seen = change.setting, change.seen
    now = current(change)
    facts = [
        ("holds here", "nothing" if now is None else now or "an empty set"),
        ("in force", effective(change) or ""),
        ("wanted", wanted(setting) or ""),
        ("why", setting.why),
        ("asked by", str(setting.source) if setting.source else ""),
        ("status", ": ".join(filter(None, (change.status.value, change.held or change.reason)))),
        ("read from", seen.where),
        ("note", setting.note),
        ("does not reach", ", ".join(seen.not_reached)),
        *(("conflict", f"{c.owner} sets it to {c.value} ({c.where})") for c in seen.conflicts),
    ]
    return [(heading, text) for heading, text in facts if text]
