"""The matrix of distances, in blocks of columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.topology.model import Node
from numatune.views.folding import Run, label, same_distances
from numatune.views.style import Style


def distances(nodes: Sequence[Node], style: Style) -> list[str]:
    """Lines of the matrix; [] when no node tells a distance.

    Nodes that are equally far from all share a line; where they meet themselves, ``10/80`` is to itself and among them.
    """
    if not any(node.distances for node in nodes):
        return []
    runs = same_distances(nodes)
    labels = [label(run) for run in runs]
    cells = [[_cell(run, other) for other in runs] for run in runs]
    width = max(len(text) for row in [labels, *cells] for text in row) + 2
    first = max(len(name) for name in labels) + 2
    fitting = max((style.width - first - 2) // width, 1)
    lines: list[str] = []
    for start in range(0, len(runs), fitting):
        columns = range(start, min(start + fitting, len(runs)))
        lines += [""] if start else []
        head = "".join(f"{labels[column]:>{width}}" for column in columns)
        lines.append(style.paint(f"{'':{first}}{head}", "dim"))
        lines += [
            f"{labels[row]:>{first}}" + "".join(f"{cells[row][column]:>{width}}" for column in columns)
            for row in range(len(runs))
        ]
    return lines


def _cell(run: Run, other: Run) -> str:
    here = run[0].distances.get(other[0].id)
    text = "?" if here is None else str(here)
    return f"{text}/{run[0].distances.get(run[1].id)}" if run is other and len(run) > 1 else text
