"""Rows under headings, in columns that line up, at any width."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from numatune.views.rows import Row
from numatune.views.style import Segment, Style

_WIDEST_NAME, _WIDEST_VALUE = 44, 40
_BESIDE = 36
"""With fewer columns left than that, what is told of a row goes on lines of its own."""
_BELOW = 6


def table(rows: Sequence[Row], style: Style, *, verbose: bool = False) -> list[str]:
    """Lines of all rows, a heading before each section, sections in the order in which they first appear."""
    fitted = [_fit(row, style, whole=verbose) for row in rows]
    name = min(max((len(row.name) for row in fitted), default=0), _WIDEST_NAME, style.width // 2)
    value = min(max((_length(row.value) for row in fitted), default=0), _WIDEST_VALUE, style.width // 2)
    lines: list[str] = []
    for section in dict.fromkeys(row.section for row in fitted):
        lines += ["", style.paint(section, "bold")]
        lines += [line for row in fitted if row.section == section for line in _lines(row, name, value, style)]
    return lines


def _lines(row: Row, name_width: int, value_width: int, style: Style) -> list[str]:
    head = f"  {style.segments([row.symbol])} {row.name:{name_width}}  {style.segments(row.value)}"
    value_width = max(value_width, _length(row.value)) + 2 if row.value else 0
    used = 6 + max(len(row.name), name_width) + value_width
    told = ": ".join(text for text in (row.tag[0], row.told) if text)
    beside = len(told) <= style.width - used or (
        style.width - used >= max(_BESIDE, len(row.tag[0]) + 2)
        and len(style.wrap(told, used)) <= 1 + len(style.wrap(told, _BELOW))
    )
    indent = used if beside else _BELOW
    pieces = [style.paint(piece, "dim") for piece in style.wrap(told, indent)]
    if pieces and row.tag[0]:
        pieces[0] = _tagged(style.wrap(told, indent)[0], row.tag, style)
    lines = [head]
    if beside and pieces:
        gap = " " * (value_width - _length(row.value))
        lines = [f"{head}{gap}{pieces.pop(0)}"]
    lines += [" " * indent + piece for piece in pieces]
    for text in row.below:
        first, *rest = style.wrap(text, _BELOW + 2)
        lines += [" " * _BELOW + style.paint(first, "dim")]
        lines += [" " * (_BELOW + 2) + style.paint(piece, "dim") for piece in rest]
    return [line.rstrip() for line in lines]


def _tagged(piece: str, tag: Segment, style: Style) -> str:
    """The tag in its colour, the rest dimmed."""
    word, paints = tag
    if not piece.startswith(word):
        return style.paint(piece, "dim")
    return style.paint(word, *paints) + style.paint(piece.removeprefix(word), "dim")


def _fit(row: Row, style: Style, *, whole: bool) -> Row:
    """The row in the characters of this terminal, long values cut short unless all of them is asked for."""
    most = max(12, style.width // 4)
    value = tuple((style.spell(text if whole else _cut(text, most)), paints) for text, paints in row.value)
    return dataclasses.replace(
        row,
        symbol=(style.spell(row.symbol[0]), row.symbol[1]),
        name=style.spell(row.name),
        value=value,
        told=style.spell(row.told),
        below=tuple(map(style.spell, row.below)),
    )


def _cut(text: str, most: int) -> str:
    """As many of the first entries of a list as fit, and its last: a part of one would read as another number.

    What has no entries is cut in its middle.
    """
    if len(text) <= most:
        return text
    separator = "," if "," in text else " "
    *entries, last = text.split(separator)
    for end in (f"{separator}{last}", ""):
        for count in range(len(entries), 0, -1):
            cut = f"{separator.join(entries[:count])}{separator}…{end}"
            if len(cut) <= most:
                return cut
    return f"{text[: most // 2]}…{text[len(text) - (most - most // 2 - 1) :]}"


def _length(segments: Sequence[Segment]) -> int:
    return sum(len(text) for text, _ in segments)
