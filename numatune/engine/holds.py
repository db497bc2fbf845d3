"""Holds: settings that a person wants left as they are for a while.

A held row is shown, not counted, not repaired, and `apply` leaves it alone; after the hold it is a row like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from numatune.engine.when import for_people
from numatune.errors import NumatuneError, Problem, did_you_mean
from numatune.settings.applied import Hold
from numatune.settings.model import SettingId
from numatune.settings.plan import AS_WANTED, Action, Change

EVERY = "*"
"""The id of a hold on every setting, also on those that a later apply brings."""

_GLOB = frozenset("*?[")

_NOT_THERE = {
    "setting": ("is no setting of the applied set", "numatune drift -v"),
    "hold": ("is not held", "numatune hold"),
}
"""What is wrong with an id that names nothing, and the command that lists those that there are."""


def in_force(holds: Iterable[Hold], now: str) -> tuple[Hold, ...]:
    """The holds that have not ended."""
    return tuple(hold for hold in holds if hold.until > now)


def on(setting: SettingId, holds: Iterable[Hold], now: str) -> Hold | None:
    """The hold on a setting: its own, else the one on every setting; of several the one that ends last."""
    found = [hold for hold in in_force(holds, now) if hold.id in {setting, EVERY}]
    return max(found, key=lambda hold: hold.until, default=None)


def said(hold: Hold) -> str:
    """A hold in words: ``held by alice until 2026-11-29 18:03:00 UTC: firmware test``."""
    words = f"held by {hold.who} until {for_people(hold.until)}"
    return f"{words}: {hold.why}" if hold.why else words


def match(patterns: Sequence[str], known: Collection[str], what: str = "setting") -> tuple[str, ...]:
    """The known ids that were named, outright or by a glob, in the order of `known`; `what` they are ids of.

    Raises NumatuneError with every pattern that names none.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415  # drift reads holds and matches nothing

    found: set[str] = set()
    unknown: list[str] = []
    for pattern in patterns:
        named = [id_ for id_ in known if id_ == pattern]
        if not named and not _GLOB.isdisjoint(pattern):
            named = [id_ for id_ in known if fnmatchcase(id_, pattern)]
        found.update(named)
        if not named:
            unknown.append(pattern)
    if unknown:
        raise _unknown(unknown, known, what)
    return tuple(id_ for id_ in known if id_ in found)


def hold(holds: Iterable[Hold], new: Iterable[Hold], now: str) -> tuple[Hold, ...]:
    """All holds in force with the new ones, each of which takes the place of an older one on its setting."""
    merged = {old.id: old for old in in_force(holds, now)} | {made.id: made for made in new}
    return tuple(merged[id_] for id_ in sorted(merged))


def unhold(holds: Iterable[Hold], ids: Collection[str], now: str) -> tuple[Hold, ...]:
    """The holds in force that are left without those on `ids`."""
    return tuple(hold for hold in in_force(holds, now) if hold.id not in ids)


def respect(changes: Iterable[Change], holds: Sequence[Hold], now: str) -> tuple[Change, ...]:
    """A plan that leaves alone what is held, and what only exists once something held is made.

    A held row that is not as wanted is marked, also when nothing would be done about it.
    """
    if not in_force(holds, now):
        return tuple(changes)
    changes = tuple(changes)
    reasons = {change.setting.id: said(found) for change in changes if (found := on(change.setting.id, holds, now))}
    waits = {change.setting.id for change in changes if change.action is Action.CREATE and change.setting.id in reasons}
    return tuple(_left(change, reasons, waits) for change in changes)


def _left(change: Change, reasons: dict[SettingId, str], waits: set[SettingId]) -> Change:
    needs = change.setting.needs
    held = reasons.get(change.setting.id, "")
    if not held and needs in waits:
        held = f"{needs} is {reasons[needs]}"
    if not held or (change.action is Action.NONE and change.status in AS_WANTED):
        return change
    reason = change.reason if change.action is Action.NONE else held
    return replace(change, action=Action.NONE, writes=(), held=held, reason=reason)


def _unknown(patterns: Sequence[str], known: Collection[str], what: str) -> NumatuneError:
    """Ids that nobody has heard of, each with what may have been meant."""
    found, listed = _NOT_THERE[what]
    problems = []
    for pattern in patterns:
        hint = did_you_mean(pattern, known) or f"`{listed}` lists them"
        problems.append(Problem(pattern, found, hint=hint))
    error = NumatuneError(patterns[0], found)
    error.problems = tuple(problems)
    return error
