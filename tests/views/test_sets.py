"""Long sets of CPUs are told in words, where there are any that say the same."""

from __future__ import annotations

import pytest

from numatune.cpus import CpuSet
from numatune.views.sets import short

EVEN = CpuSet(range(0, 80, 2))


@pytest.mark.parametrize(
    ("cpus", "told"),
    [
        (CpuSet(), ""),
        (CpuSet([0, 2, 4]), "0,2,4"),
        (CpuSet(range(4096)), "0-4095"),
        (EVEN, "every 2nd of 0-78"),
        (CpuSet(range(3, 384, 8)), "every 8th of 3-379"),
        (EVEN | CpuSet([1]), f"0-2,{str(EVEN)[4:]}"),
        (EVEN - CpuSet([40]), str(EVEN).replace(",40,", ",")),
    ],
)
def test_short(cpus: CpuSet, told: str):
    assert short(cpus) == told
