"""An error as JSON: what a program gets in place of a result."""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.errors import NumatuneError

UNEXPECTED = 3
"""Exit code of what nobody foresaw."""


def known(error: NumatuneError) -> dict[str, object]:
    """An error of ours, problem by problem."""
    problems = [
        {"where": problem.where, "found": problem.found, "accepted": problem.accepted, "hint": problem.hint}
        for problem in error.problems
    ]
    return {"code": error.exit_code, "kind": type(error).__name__, "problems": problems}


def unexpected(error: Exception, found: str, hint: str = "") -> dict[str, object]:
    """Any other error."""
    problem = {"where": "", "found": found, "accepted": "", "hint": hint}
    return {"code": UNEXPECTED, "kind": type(error).__name__, "problems": [problem]}
