"""Plain columns under a heading line, as wide as what they hold; the last one may run over several lines."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.views.style import Style

_GAP = "  "


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], style: Style, *, right: str = "") -> list[str]:
    """Lines of a table; a column without a value in any row is left out. `right`: headings over numbers."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    cells = [[style.spell(row[place]) for place in kept] for row in rows]
    heads = [head[place] for place in kept]
    widths = [max(len(heads[place]), *(len(row[place]) for row in cells)) for place in range(len(kept))]
    numbers = set(right.split(","))
    indent = 2 + sum(widths[:-1]) + len(_GAP) * (len(kept) - 1)
    lines = [style.paint(_line(heads, heads, widths, numbers), "dim")]
    for row in cells:
        first, *rest = wrapped(row[-1], style.width - indent) or [""]
        lines.append(_line([*row[:-1], first], heads, widths, numbers))
        lines += [" " * indent + piece for piece in rest]
    return lines


def _line(cells: Sequence[str], heads: Sequence[str], widths: Sequence[int], numbers: set[str]) -> str:
    pieces = [
        f"{cell:>{width}}" if head in numbers else f"{cell:{width}}"
        for cell, head, width in zip(cells, heads, widths, strict=True)
    ]
    return ("  " + _GAP.join(pieces)).rstrip()


def wrapped(text: str, room: int) -> list[str]:
    """Pieces of a list that end at its commas or blanks."""
    lines: list[str] = []
    for piece in text.replace(",", ",\0").replace(" ", " \0").split("\0"):
        if lines and len(lines[-1]) + len(piece.rstrip()) <= max(room, 12):
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line.rstrip() for line in lines]
