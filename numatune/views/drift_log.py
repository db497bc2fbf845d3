"""A drift check as lines of a log: one a row that counts or was put back, in plain ASCII."""

from __future__ import annotations

from numatune.settings.drift import Drift
from numatune.views.drift_text import line
from numatune.views.style import Style

_LOG = Style(unicode=False)


def lines(found: Drift, *, repaired: bool = True) -> list[str]:
    """``MM sysctl:vm.swappiness  10 -> 60; apply would set 10``. `repaired`: also what was put back."""
    rows = [row for row in found.rows if row.counted or (row.repaired and repaired)]
    return [f"drift: {line(row, 0, _LOG)}" for row in rows]
