"""The matrix of distances, the nearer the paler."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.topology.model import Node
from numatune.views.distances import Matrix, matrix, step
from numatune.views.picture.boxes import Box, Label, Placed
from numatune.views.picture.flow import Block
from numatune.views.picture.frames import Line, framed
from numatune.views.picture.measure import text_width

_SIZE, _HIGH, _GAP = 10, 20, 1


def heat(nodes: Sequence[Node]) -> Box | None:
    """A frame with the matrix, rows from, columns to; None when there is nothing to compare."""
    found = matrix(nodes)
    if found is None or len(nodes) == 1:
        return None
    lines: list[Line] = [("distances", "title", 12), ("from row to column", "faint", 9)]
    return framed(Box(kind="distances"), lines, _cells(found), pad=10)


def _cells(found: Matrix) -> Block:
    texts = [*found.labels, *(text for row in found.cells for text in row)]
    wide = max(text_width(text, _SIZE) for text in texts) + 8
    first = max(text_width(text, _SIZE) for text in found.labels) + 6
    placed = [
        Placed(first + column * (wide + _GAP), 0, _text("to", text, wide, centred=True))
        for column, text in enumerate(found.labels)
    ]
    for row, name in enumerate(found.labels):
        y = (row + 1) * (_HIGH + _GAP)
        placed.append(Placed(0, y, _text("from", name, first - 4, centred=False)))
        for column, text in enumerate(found.cells[row]):
            value = found.values[row][column]
            tip = f"from node {name} to node {found.labels[column]}: {text}"
            kind = f"distance heat{_step(value)}"
            placed.append(Placed(first + column * (wide + _GAP), y, _text(kind, text, wide, centred=True, tip=tip)))
    count = len(found.labels)
    return Block(tuple(placed), first + count * (wide + _GAP) - _GAP, (count + 1) * (_HIGH + _GAP) - _GAP)


def _text(kind: str, text: str, wide: int, *, centred: bool, tip: str = "") -> Box:
    free = wide - text_width(text, _SIZE)
    label = Label(x=free // 2 if centred else free, y=14, text=text, size=_SIZE)
    return Box(kind=kind, width=wide, height=_HIGH, labels=(label,), tip=tip, drawn=bool(tip))


def _step(value: int | None) -> str:
    """0 for a node itself to 5 for the farthest; x where nothing tells."""
    return "x" if value is None else str(step(value))
