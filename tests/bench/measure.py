"""What a command costs, and lines of a table."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds: user plus system of a whole process tree, and by the clock on the wall. `peak`: bytes of the largest."""

    cpu: float
    wall: float
    peak: int = 0

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.cpu - other.cpu, self.wall - other.wall)


def cost(command: Sequence[str], env: Mapping[str, str]) -> Cost:
    """Cost of a command and of all that it waited for, by wait4. Raises when it does not end with 0."""
    began = time.monotonic()
    child = subprocess.Popen(command, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{command[:4]} ended with {child.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss << 10)


def median(costs: Iterable[Cost]) -> Cost:
    """Each median by itself."""
    found = list(costs)
    return Cost(statistics.median(one.cpu for one in found), statistics.median(one.wall for one in found))


def row(name: str, mine: float, peer_name: str, theirs: float, ratio: float | None = None) -> None:
    """One line."""
    print(f"{name:38} {mine:7.3f}   {peer_name:28} {theirs:7.3f}   ratio {ratio or mine / theirs:7.2f}")
