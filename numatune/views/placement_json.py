"""Placements as JSON, format 1: the same for one rank and for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numatune.launch.model import Placement

FORMAT = 1
"""Names may be added, none changes its meaning."""


def placements(made: Sequence[Placement]) -> dict[str, Any]:
    """``ranks``: what each gets, with its steps. A node that nobody knows is null, sets are lists like ``0-3,8``."""
    return {"format": FORMAT, "ranks": [_rank(one) for one in made]}


def _rank(made: Placement) -> dict[str, Any]:
    return {
        "rank": made.rank,
        "devices": list(made.devices),
        "node": made.node,
        "cpus": str(made.cpus),
        "bound": made.bound,
        "memory": {"mode": made.memory.mode, "nodes": str(made.memory.nodes)},
        "shm": str(made.shm) or None,
        "nics": list(made.nics),
        "env": dict(made.env),
        "steps": [
            {"step": one.step, "result": one.result, "reason": one.reason, "warns": one.warns} for one in made.steps
        ],
    }
