"""Rows of a plan as a person reads them: what to say of a change in few words, and which rows fold into one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numatune.settings.model import Impact, SettingId
from numatune.settings.plan import Action, Change, Outcome, Status
from numatune.settings.targets import IrqAffinity
from numatune.views import cells
from numatune.views.names import below_section
from numatune.views.style import Segment
from numatune.views.values import current, effective, wanted

_STATUSES: dict[Status, Segment] = {
    Status.OK: ("✓", ("green",)),
    Status.DRIFTED: ("!", ("yellow",)),
    Status.PENDING: ("…", ("cyan",)),
    Status.UNSUPPORTED: ("?", ("yellow",)),
    Status.UNCHANGEABLE: ("·", ("dim",)),
    Status.DENIED: ("✗", ("red",)),
    Status.CLAMPED: ("≈", ("yellow",)),
    Status.FAILED: ("✗", ("red",)),
    Status.REBOOT: ("↻", ("magenta",)),
    Status.UNMET: ("✗", ("red",)),
    Status.NOT_APPLICABLE: ("○", ("dim",)),
}

_ACTIONS: dict[Action, Segment] = {
    Action.NONE: ("!", ("yellow",)),
    Action.CREATE: ("+", ("green",)),
    Action.UPDATE: ("~", ("yellow",)),
    Action.DELETE: ("-", ("red",)),
    Action.REMOUNT: ("↻", ("yellow",)),
    Action.RESTART: ("↻", ("yellow",)),
    Action.RELEASE: ("↩", ("cyan",)),
}


ON_HOLD: Segment = ("on hold", ("cyan",))
"""The word for a row that somebody holds."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: ``~ vm.swappiness  60 → 10  new-processes: reason``, and lines below it."""

    section: str
    symbol: Segment
    name: str
    value: tuple[Segment, ...]
    tag: Segment
    told: str
    below: tuple[str, ...] = ()


def rows(
    changes: Iterable[Change], outcomes: Mapping[SettingId, Outcome] | None = None, *, verbose: bool = False
) -> list[Row]:
    """What to show: everything with `verbose`; else no rows that are as wanted, and families folded."""
    made: dict[object, list[Change]] = {}
    for change in changes:
        outcome = (outcomes or {}).get(change.setting.id)
        status = outcome.status if outcome else change.status
        if not verbose and _is_quiet(status, outcome):
            continue
        setting = change.setting
        key: object = setting.id
        if setting.family and not verbose:
            reason = outcome.reason if outcome else change.reason
            key = (setting.section, setting.family, status, change.action, change.impact, reason, change.held)
        elif status is Status.NOT_APPLICABLE and not verbose:
            key = (setting.section, status, change.reason, change.held)
        made.setdefault(key, []).append(change)
    return [_row(group, outcomes or {}, verbose=verbose) for group in made.values()]


def _is_quiet(status: Status, outcome: Outcome | None) -> bool:
    """As wanted; and in a report also what does not apply here, which the plan has told."""
    if outcome is None:
        return status is Status.OK
    return status in {Status.OK, Status.NOT_APPLICABLE} and not outcome.changed


def _row(group: list[Change], outcomes: Mapping[SettingId, Outcome], *, verbose: bool) -> Row:
    change, setting = group[0], group[0].setting
    outcome = outcomes.get(setting.id)
    status = outcome.status if outcome else change.status
    reason = change.held or (outcome.reason if outcome else change.reason)
    because_of_reason = outcome or (reason and change.action is Action.NONE)
    because = setting.why if verbose or status is Status.UNMET or not because_of_reason else ""
    told = [reason, *_also(group), because]
    if verbose and setting.source:
        told.append(f"[{setting.source}]")
    return Row(
        section=setting.section,
        symbol=_symbol(change, status, done=outcome is not None),
        name=_name(group),
        value=cells.done(group, outcomes) if outcome else cells.planned(group),
        tag=_tag(change, status, done=outcome is not None),
        told="; ".join(text for text in told if text),
        below=tuple(
            dict.fromkeys(
                line for change in group for line in _below(change, outcomes.get(change.setting.id), verbose=verbose)
            )
        ),
    )


def _also(group: list[Change]) -> list[str]:
    """What is of no family and does not apply for the same reason as the first: ``also epp, cpuidle``."""
    setting, others = group[0].setting, group[1:]
    if setting.family or not others:
        return []
    return [f"also {', '.join(below_section(change.setting.id, setting.section) for change in others)}"]


def _name(group: list[Change]) -> str:
    """``vm.swappiness``; ``0000:41:00.0/1 eth0-rx-1``; of a family ``0000:41:00.0 eth0-rx (32)``; ``governor (+2)``."""
    setting = group[0].setting
    labels = [change.setting.target.label for change in group if isinstance(change.setting.target, IrqAffinity)]
    if len(group) == 1:
        return " ".join(filter(None, (below_section(setting.id, setting.section), *labels)))
    if not setting.family:
        return f"{below_section(setting.id, setting.section)} (+{len(group) - 1})"
    common = os.path.commonprefix(labels).rstrip("-.:@ ")  # noqa: RUF071  # of names, no paths
    return " ".join(filter(None, (below_section(setting.family, setting.section), common, f"({len(group)})")))


def _symbol(change: Change, status: Status, *, done: bool) -> Segment:
    return _STATUSES[status] if done or status is not Status.DRIFTED else _ACTIONS[change.action]


def _tag(change: Change, status: Status, *, done: bool) -> Segment:
    """The one word that a reader must not miss: the status, or what the change does to running work."""
    if change.held and status is not Status.OK:
        return ON_HOLD
    if status is Status.DRIFTED and change.action is Action.NONE:
        return "held back", ("yellow",)
    if status not in {Status.OK, Status.DRIFTED}:
        paints = _symbol(change, status, done=done)[1]
        return status.value, paints
    if change.impact is Impact.DISRUPTS and not done:
        return "disrupts running work", ("red", "bold")
    if change.impact is Impact.NEW_PROCESSES and change.action is not Action.NONE:
        return "new processes only", ("cyan",)
    return "", ()


def _below(change: Change, outcome: Outcome | None, *, verbose: bool) -> list[str]:
    """What belongs to a row and needs a line of its own."""
    setting, lines, done = change.setting, [], outcome is not None
    for conflict in outcome.conflicts if outcome else change.seen.conflicts:
        value = f" to {conflict.value}" if conflict.value is not None else ""
        lines.append(f"conflict: {conflict.owner} sets it{value} ({conflict.where})")
    in_force = effective(change)
    if in_force and verbose and not done and in_force not in {current(change), wanted(setting)}:
        lines.append(f"in force: {in_force}")
    if change.action is not Action.NONE:
        if change.impact is Impact.DISRUPTS and change.seen.users and not done:
            lines.append(f"felt by: {', '.join(change.seen.users)}")
        if setting.note and not done:
            lines.append(f"note: {setting.note}")
        if change.seen.not_reached and not done:
            lines.append(f"does not reach: {', '.join(change.seen.not_reached)}")
        if setting.undo == "never":
            lines.append("rollback cannot take this back")
        elif setting.undo == "nearest":
            lines.append("rollback comes near the original, not always back to it")
    if change.restart_needed:
        lines.append(f"keeps its old state until restarted: {', '.join(change.restart_needed)}")
    return lines
