"""The matrix of distances, as data, and as text in blocks of columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numatune.topology.model import Node
from numatune.views.folding import Run, label, same_distances
from numatune.views.style import Paint, Style

_UPTO = (10, 12, 17, 24, 40)
"""SLIT: 10 is the node itself."""
_PAINTS: tuple[tuple[Paint, ...], ...] = ((), ("green",), ("green",), ("yellow",), ("red",), ("red", "bold"))


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows from, columns to. Nodes that are equally far from all share a line, labelled ``2-17``.

    Where they meet themselves a cell reads ``10/80``, to itself and among them, and the value is the larger.
    """

    labels: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    values: tuple[tuple[int | None, ...], ...]


def matrix(nodes: Sequence[Node]) -> Matrix | None:
    """The distances of a host; None when no node tells any."""
    if not any(node.distances for node in nodes):
        return None
    runs = same_distances(nodes)
    return Matrix(
        labels=tuple(label(run) for run in runs),
        cells=tuple(tuple(_cell(run, other) for other in runs) for run in runs),
        values=tuple(tuple(_value(run, other) for other in runs) for run in runs),
    )


def distances(nodes: Sequence[Node], style: Style) -> list[str]:
    """Lines of the matrix; [] when no node tells a distance."""
    found = matrix(nodes)
    if found is None:
        return []
    width = max(len(text) for row in [found.labels, *found.cells] for text in row) + 2
    first = max(len(name) for name in found.labels) + 2
    fitting = max((style.width - first - 2) // width, 1)
    lines: list[str] = []
    for start in range(0, len(found.labels), fitting):
        columns = range(start, min(start + fitting, len(found.labels)))
        lines += [""] if start else []
        head = "".join(f"{found.labels[column]:>{width}}" for column in columns)
        lines.append(style.paint(f"{'':{first}}{head}", "dim"))
        lines += [
            f"{found.labels[row]:>{first}}" + "".join(_painted(found, row, column, width, style) for column in columns)
            for row in range(len(found.labels))
        ]
    return lines


def step(value: int | None) -> int:
    """How far, in steps that are the same on every host: 0 a node itself, 1-2 within a package, 3 the next one."""
    return sum((value or 0) > limit for limit in _UPTO)


def _painted(found: Matrix, row: int, column: int, width: int, style: Style) -> str:
    text = found.cells[row][column]
    return " " * (width - len(text)) + style.paint(text, *_PAINTS[step(found.values[row][column])])


def _cell(run: Run, other: Run) -> str:
    here = run[0].distances.get(other[0].id)
    text = "?" if here is None else str(here)
    return f"{text}/{run[0].distances.get(run[1].id)}" if run is other and len(run) > 1 else text


def _value(run: Run, other: Run) -> int | None:
    return run[0].distances.get(run[1].id if run is other and len(run) > 1 else other[0].id)
