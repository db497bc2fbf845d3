"""Placements for people: a table of all ranks, the steps of one, and the words that travel with a process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from numatune.cpus import CpuSet
from numatune.launch.model import Placement
from numatune.launch.step import Step
from numatune.views.columns import columns, wrapped
from numatune.views.style import Style

_HANGS = 4
_HEAD = ("rank", "devices", "node", "CPUs", "memory", "adapters", "environment")
_LISTS = tuple(_HEAD.index(name) for name in ("devices", "CPUs", "adapters", "environment"))
"""Columns that may run over several lines."""

_GAP = 2


def placements(made: Sequence[Placement], style: Style, *, verbose: bool = False) -> str:
    """A row a rank; `verbose`: with all steps of each, else with those that warn, alike ones of several ranks once."""
    lines = columns(_HEAD, _rows([_cells(one) for one in made], style.width), style)
    told: Iterable[tuple[str, Sequence[Step]]]
    told = [(_ranks([one.rank]), one.steps) for one in made if one.steps] if verbose else _warnings(made)
    for name, steps in told:
        lines += ["", style.paint(name, "bold"), *(line for step in steps for line in _folded(step, style))]
    return "\n".join(lines)


def _warnings(made: Sequence[Placement]) -> Iterator[tuple[str, list[Step]]]:
    """Steps that warn, by the ranks that they are of; what they came to is joined."""
    alike: dict[tuple[str, str], dict[int | None, list[str]]] = {}
    for one in made:
        for step in one.steps:
            if step.warns:
                alike.setdefault((step.step, step.reason), {}).setdefault(one.rank, []).append(step.result)
    by_ranks: dict[tuple[int | None, ...], list[Step]] = {}
    for (name, reason), results in alike.items():
        every = dict.fromkeys(result for each in results.values() for result in each)
        by_ranks.setdefault(tuple(results), []).append(Step(name, ", ".join(every), reason, warns=True))
    for ranks, steps in by_ranks.items():
        yield _ranks(ranks), steps


def _folded(step: Step, style: Style) -> list[str]:
    """A step at this width; what does not fit hangs below it."""
    first, *rest = style.wrap(step.line, _HANGS)
    return [f"  {first}", *(" " * _HANGS + piece for piece in rest)]


def _ranks(ranks: Sequence[int | None]) -> str:
    known = CpuSet(rank for rank in ranks if rank is not None)
    if not known:
        return "This process"
    return f"Rank {known}" if len(known) == 1 else f"Ranks {known}"


def _cells(made: Placement) -> tuple[str, ...]:
    return (
        "-" if made.rank is None else str(made.rank),
        " ".join(made.devices),
        "-" if made.node is None else str(made.node),
        str(made.cpus) if made.bound else f"{made.cpus} (as they are)",
        f"{made.memory.mode} {made.memory.nodes}".rstrip(),
        " ".join(made.nics),
        " ".join(f"{name}={text}" for name, text in made.env.items()),
    )


def _rows(cells: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """The lines of each row: lists share the room that the other columns leave, the widest gives way first."""
    rooms = [max(len(row[place]) for row in cells) for place in range(len(_HEAD))]
    rooms = [max(room, len(head)) if room else 0 for room, head in zip(rooms, _HEAD, strict=True)]
    least = {place: _longest(cells, place) for place in _LISTS}
    while sum(_GAP + room for room in rooms if room) > width:
        widest = max(_LISTS, key=lambda place: (rooms[place] - least[place] > 0, rooms[place]))
        if rooms[widest] <= least[widest]:
            break
        rooms[widest] -= 1
    rows = []
    for row in cells:
        split = [wrapped(cell, rooms[place]) if place in _LISTS else [cell] for place, cell in enumerate(row)]
        rows += [list(line) for line in zip_longest(*split, fillvalue="")]
    return rows


def _longest(cells: Sequence[Sequence[str]], place: int) -> int:
    """The room that a column cannot do without."""
    return max(len(piece) for row in cells for piece in (*wrapped(row[place], 0), _HEAD[place] if row[place] else ""))
