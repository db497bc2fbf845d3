"""Whether a host is what its profile expects, looked at just before anything is changed.

Values are worked out for the host that was meant. On another one (a node less, other nodes, a device that is gone) they
are wrong in ways that no row of a plan shows, so apply stops unless it is told to go on.
"""

from __future__ import annotations

from collections.abc import Iterable

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.errors import Problem
    from numatune.host.protocol import Reader
    from numatune.settings.applied import SavedPlan
    from numatune.settings.plan import Change

SECTION = "expect"
_HINT = "--on-unmet warn applies all the same, --skip expect does not ask"


def stop_unmet(made: SavedPlan, reader: Reader) -> None:
    """Raises UnmetError with everything that is not as expected. What is optional or held stops nobody."""
    from numatune.engine.diff import Options, diff
    from numatune.engine.observe import observe
    from numatune.errors import UnmetError

    if made.on_unmet == "warn":
        return
    expected = [change.setting for change in made.plan.rows if change.setting.section == SECTION and not change.held]
    if not expected:
        return
    unmet = _stopping(diff(expected, observe(expected, reader, name_conflicts=False), Options()))
    if unmet:
        problems = [_problem(change) for change in unmet]
        raise UnmetError((*problems[:-1], _problem(unmet[-1], _HINT)))


def notes(changes: Iterable[Change], on_unmet: str) -> tuple[str, ...]:
    """What a plan says of an apply that would stop."""
    unmet = _stopping(changes) if on_unmet == "stop" else []
    return (f"apply changes nothing here, because {len(unmet)} of what is expected is not so",) if unmet else ()


def _stopping(changes: Iterable[Change]) -> list[Change]:
    from numatune.settings.plan import counts

    expected = (change for change in changes if change.setting.section == SECTION and not change.held)
    return [change for change in expected if counts(change.setting, change.status)]


def _problem(change: Change, hint: str = "") -> Problem:
    from numatune.errors import Problem
    from numatune.views.values import current, wanted

    setting = change.setting
    found = current(change)
    told = f"{setting.id} is {found if found is not None else change.status.value}, expected {wanted(setting)}"
    return Problem(str(setting.source or ""), f"{told}: {change.reason}", hint=hint)
