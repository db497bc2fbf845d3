"""Sets of CPUs in few words."""

from __future__ import annotations

from numatune.cpus import CpuSet

_LONG = 16
"""Characters; numbers that alternate between nodes make lists of hundreds."""
_ENDINGS = {2: "2nd", 3: "3rd"}


def short(cpus: CpuSet) -> str:
    """``0-3,8``; of a long list whose numbers are equally far apart ``every 8th of 0-376``."""
    text = str(cpus)
    if len(text) <= _LONG:
        return text
    step = cpus.take(2).last - cpus.first
    if step < min(_ENDINGS) or cpus != CpuSet(range(cpus.first, cpus.last + 1, step)):
        return text
    return f"every {_ENDINGS.get(step, f'{step}th')} of {cpus.first}-{cpus.last}"
