"""A rollback for people: what is given back, what is spared and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, Outcome, Plan, Status
from numatune.views.names import profile_line
from numatune.views.rows import rows
from numatune.views.style import Style
from numatune.views.table import table
from numatune.views.values import giving_back

Spared = tuple[str, str]
"""Id of a setting that is left alone, and why."""

NOTHING = "Nothing to take back: no run has changed anything, or all were taken back."


def proposal(runs: Sequence[int], made: Plan, spared: Sequence[Spared], style: Style) -> str:
    """What would be given back."""
    changes = [giving_back(change) for change in made.changes if change.action is not Action.NONE]
    done = table(rows(changes), style)
    parts = [style.paint(f"{len(changes)} to give back", "bold"), *([f"{len(spared)} spared"] if spared else [])]
    lines = [*_head("Take back", runs, made, style), *done, *_spared(spared, style)]
    return "\n".join([*lines, "", style.separator.join(parts)])


def report(
    runs: Sequence[int], made: Plan, outcomes: Mapping[SettingId, Outcome], spared: Sequence[Spared], style: Style
) -> str:
    """What was given back."""
    changes = [giving_back(change) for change in made.changes if _moved(change, outcomes)]
    back = sum(outcomes[change.setting.id].status is Status.OK for change in changes)
    left = len(changes) - back
    parts = [style.paint(f"{back} given back", "bold")]
    parts += [f"{left} not given back"] if left else []
    parts += [f"{len(spared)} spared"] if spared else []
    lines = [*_head("Taken back", runs, made, style), *table(rows(changes, outcomes), style), *_spared(spared, style)]
    if left:
        lines += ["", "The journal is kept: numatune rollback tries again."]
    return "\n".join([*lines, "", style.separator.join(parts)])


def _moved(change: Change, outcomes: Mapping[SettingId, Outcome]) -> bool:
    """What was written, what moved beside it, and what is not as it was."""
    outcome = outcomes[change.setting.id]
    return change.action is not Action.NONE or outcome.changed or outcome.status is not Status.OK


def _head(verb: str, runs: Sequence[int], made: Plan, style: Style) -> list[str]:
    numbers = ", ".join(map(str, runs))
    about = f" of {profile_line(made.profiles)}" if made.profiles else ""
    first, *rest = style.wrap(f"{verb}: run{'s' if len(runs) > 1 else ''} {numbers}{about}")
    return [style.paint(style.spell(first), "bold"), *rest]


def _spared(spared: Sequence[Spared], style: Style) -> list[str]:
    """Left alone, and why."""
    if not spared:
        return []
    lines = ["", style.paint("left as it is", "bold")]
    for name, reason in spared:
        first, *rest = style.wrap(style.spell(f"{name}: {reason}"), 4)
        lines += [f"  {style.paint('!', 'yellow')} {first}", *(f"    {piece}" for piece in rest)]
    return lines
