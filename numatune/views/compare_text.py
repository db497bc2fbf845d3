"""Two hosts side by side, for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest

from numatune.topology.comparison import Row
from numatune.views.style import Style

_MARKS = {"differs": "~", "same": " ", "untold": "?"}
_FOLDED = frozenset({"interrupts", "drivers"})
"""Sections in which things that are otherwise in the same way are one line."""
_WIDEST_NAME = 40
_NARROWEST = 12
_GAP = "  "
_AFTER = re.compile("[,; /]")
"""Where a line may end: between words, entries of a list and the folders of a path; an address stays whole."""


def comparison(a: str, b: str, rows: Sequence[Row], style: Style, *, everything: bool = False) -> str:
    """What differs; with `everything` all. `a`, `b`: what the hosts are called."""
    shown = [row for row in rows if everything or row.state == "differs"]
    lines = [style.paint(f"{label}  {style.spell(name)}", "bold") for label, name in (("A", a), ("B", b))]
    for section, group in groupby(shown, key=lambda row: row.section):
        lines += ["", style.paint(section, "bold"), *_section(list(group), style)]
    return "\n".join([*lines, "", _summary(rows, style)])


def _section(rows: Sequence[Row], style: Style) -> list[str]:
    folded = [line for of, group in groupby(rows, key=lambda row: row.of) for line in _folded(of, list(group))]
    names = [(style.spell(row.name), _indent(row)) for row in folded]
    name = min(max(len(text) + indent for text, indent in names), _WIDEST_NAME, style.width // 3)
    longest = max(len(word.rstrip()) + indent for text, indent in names for word in _words(text))
    name = max(name, min(longest, style.width // 2))
    room = max((style.width - 4 - name - 2 * len(_GAP)) // 2, _NARROWEST)
    lines = []
    for of, group in groupby(folded, key=lambda row: row.of):
        lines += [f"  {style.paint(style.spell(of), 'cyan')}"] if of else []
        lines += [line for row in group for line in _lines(row, name, room, style)]
    return lines


def _lines(row: Row, name: int, room: int, style: Style) -> list[str]:
    """The cells of a row, each on as many lines as it needs."""
    indent = _indent(row)
    cells = [
        _wrapped(style.spell(row.name), name - indent),
        _wrapped(style.spell(_value(row, row.a)), room),
        _wrapped(style.spell(_value(row, row.b)), room),
    ]
    lines = []
    for number, (what, a, b) in enumerate(zip_longest(*cells, fillvalue="")):
        mark = style.paint(_MARKS[row.state], "yellow") if not number else " "
        left = f"{' ' * indent}{what:{name - indent}}"
        values = (f"{a:{room}}{_GAP}{b}").rstrip()
        lines.append(f"  {mark} {left}{_GAP}{values}".rstrip())
    return lines


def _value(row: Row, value: str | None) -> str:
    if value is not None:
        return value
    return "?" if row.state == "untold" else "—"


def _indent(row: Row) -> int:
    return 2 if row.of else 0


def _folded(of: str, rows: Sequence[Row]) -> list[Row]:
    """Rows of one thing; where many are otherwise in the same way, one for all of them."""
    if not (rows[0].section in _FOLDED or of in {"other", "command line"}):
        return list(rows)
    alike: dict[object, list[Row]] = {}
    for row in rows:
        alike.setdefault((row.state, row.a, row.b), []).append(row)
    return [_one(group) for group in alike.values()]


def _one(group: Sequence[Row]) -> Row:
    first, last = group[0], group[-1]
    if len(group) == 1:
        return first
    names = f"{first.name} … {last.name} ({len(group)})"
    if first.section != "interrupts":
        names = ", ".join(row.name for row in group)
    return Row(section=first.section, of=first.of, name=names, a=first.a, b=first.b, state=first.state)


def _wrapped(text: str, room: int) -> list[str]:
    """Pieces that end at a boundary; a word that is wider than the room stays whole."""
    lines = [""]
    for word in _words(text):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > room:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def _words(text: str) -> list[str]:
    """With what ends them."""
    return _AFTER.sub("\\g<0>\0", text).split("\0")


def _summary(rows: Iterable[Row], style: Style) -> str:
    counts = Counter(row.state for row in rows)
    parts = [style.paint(f"{counts['differs']} differ", "bold"), f"{counts['same']} same"]
    parts += [f"{counts['untold']} not told by one of them"] if counts["untold"] else []
    return style.separator.join(parts)
