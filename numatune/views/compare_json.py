"""Two hosts side by side, for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from numatune.topology.comparison import Row

FORMAT = 1


def comparison(a: str, b: str, rows: Sequence[Row], *, everything: bool = False) -> dict[str, Any]:
    """``{"format": 1, "a": ..., "b": ..., "summary": {...}, "rows": [...]}``. null: it is not there, or is not told."""
    counts = Counter(row.state for row in rows)
    return {
        "format": FORMAT,
        "a": a,
        "b": b,
        "summary": {state: counts[state] for state in ("differs", "same", "untold")},
        "rows": [
            {"section": row.section, "of": row.of, "name": row.name, "a": row.a, "b": row.b, "state": row.state}
            for row in rows
            if everything or row.state == "differs"
        ],
    }
