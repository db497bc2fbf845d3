"""A step of the way to a placement, for people: what was decided, with what result, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """`warns`: it is also one line on stderr when a command starts."""

    step: str
    result: str
    reason: str = ""
    warns: bool = False

    @property
    def line(self) -> str:
        """``node 1: 0000:41:00.0, by numa_node``."""
        return f"{self.step} {self.result}: {self.reason}" if self.reason else f"{self.step} {self.result}"
