"""Placements for people: a table of all ranks, the steps of one, and the words that travel with a process."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.launch.model import Placement
from numatune.launch.step import Step
from numatune.views.columns import columns
from numatune.views.style import Style

_HANGS = 4
_HEAD = ("rank", "devices", "node", "CPUs", "memory", "adapters", "environment")


def placements(made: Sequence[Placement], style: Style, *, verbose: bool = False) -> str:
    """A row a rank; `verbose`: with all steps, else with those that warn."""
    lines = columns(_HEAD, [_cells(one) for one in made], style)
    for one in made:
        steps = [step for step in one.steps if verbose or step.warns]
        if steps:
            lines += ["", style.paint(_named(one), "bold"), *(line for step in steps for line in _folded(step, style))]
    return "\n".join(lines)


def _folded(step: Step, style: Style) -> list[str]:
    """A step at this width; what does not fit hangs below it."""
    first, *rest = style.wrap(step_line(step), _HANGS)
    return [f"  {first}", *(" " * _HANGS + piece for piece in rest)]


def step_line(step: Step) -> str:
    """``node 1: 0000:41:00.0, by numa_node``."""
    return f"{step.step} {step.result}: {step.reason}" if step.reason else f"{step.step} {step.result}"


def _named(made: Placement) -> str:
    return f"Rank {made.rank}" if made.rank is not None else "This process"


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
