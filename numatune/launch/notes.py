"""The steps of a placement as they are taken, and what a policy makes of a step that nobody asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from numatune.errors import LaunchError
from numatune.launch.policy import Policy
from numatune.launch.step import Step


@dataclass
class Notes:
    """Grows while a placement is made."""

    policy: Policy
    steps: list[Step] = field(default_factory=list)

    def say(self, step: str, result: str, reason: str = "") -> None:
        """A decision as the policy wants it."""
        self.steps.append(Step(step, result, reason))

    def make_up(self, step: str, result: str, reason: str) -> None:
        """What was done instead of what was asked for. Raises LaunchError under `strict`."""
        if self.policy.strict:
            raise LaunchError(step, reason, hint="strict allows nothing but what is asked for")
        self.steps.append(Step(step, result, reason, warns=True))

    def unknown(self, step: str, result: str, reason: str, hint: str) -> None:
        """What nobody knows. Raises LaunchError under `strict` and `on_unknown: fail`."""
        if self.policy.strict or self.policy.on_unknown == "fail":
            raise LaunchError(step, reason, hint=hint)
        self.steps.append(Step(step, result, f"{reason}; {hint}", warns=True))
