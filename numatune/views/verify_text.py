"""A second opinion for people: what is not as wanted, who said so, and a line that names the next command."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from numatune.settings.plan import Change, Plan, Status, counts, differences
from numatune.settings.targets import OwnedFile
from numatune.views.names import below_section, profile_line
from numatune.views.rows import ON_HOLD, Row
from numatune.views.style import Segment, Style, plural
from numatune.views.table import table
from numatune.views.values import current, wanted

_HOLDS: Segment = ("✓", ("green",))
_FAILS: Segment = ("✗", ("red",))
_NEITHER: Segment = ("·", ("dim",))


def verified(said: Plan, style: Style, *, again: str, verbose: bool = False) -> str:
    """The settings that are not as wanted, held ones too (all with `verbose`), and how many there are of each status.

    `again`: the words after ``numatune`` that tell what apply would do about them.
    """
    shown = [change for change in said.rows if verbose or change.held or counts(change.setting, change.status)]
    lines = [style.paint(line, "bold") for line in style.wrap(f"Verified: {profile_line(said.profiles)}")]
    lines += table([_row(change, verbose=verbose) for change in shown], style, verbose=verbose)
    return "\n".join([*lines, "", *_summary(said, style, again)])


def _row(change: Change, *, verbose: bool) -> Row:
    setting, asked = change.setting, change.seen.where
    reason = change.held or change.reason
    told = [reason or setting.why] if not verbose else [reason, setting.why]
    if verbose and setting.source:
        told.append(f"[{setting.source}]")
    return Row(
        section=setting.section,
        symbol=_symbol(change),
        name=below_section(setting.id, setting.section),
        value=_value(change),
        tag=_tag(change),
        told="; ".join(filter(None, told)),
        below=(f"asked: {asked}",) if asked else (),
    )


def _tag(change: Change) -> Segment:
    if change.held:
        return ON_HOLD
    return ("", ()) if change.status is Status.OK else (change.status.value, _symbol(change)[1])


def _symbol(change: Change) -> Segment:
    if counts(change.setting, change.status) and not change.held:
        return _FAILS
    return _HOLDS if change.status in {Status.OK, Status.PENDING} else _NEITHER


def _value(change: Change) -> tuple[Segment, ...]:
    """``10``; ``60 (wanted 10)``; nothing where there is nothing to hold a value."""
    have, want = (_short(change, text) for text in (current(change), wanted(change.setting)))
    if change.status in {Status.OK, Status.PENDING}:
        return ((have or "none", ()),)
    if change.status is Status.NOT_APPLICABLE:
        return ()
    return ((have or "none", ()), (f" (wanted {want or 'none'})", ("dim",)))


def _short(change: Change, text: str | None) -> str | None:
    """A value that fits a line: a file of ours is told by its length."""
    if isinstance(change.setting.target, OwnedFile) and text:
        return plural(len(text.encode()), "byte")
    return text


def _summary(said: Plan, style: Style, again: str) -> list[str]:
    failing = differences(said.rows)
    kinds = Counter(_kind(change) for change in said.rows)
    first = f"{failing} of {plural(len(said.rows), 'setting')} not as wanted" if failing else "As wanted"
    parts = [style.paint(first, "bold"), *(f"{count} {kind}" for kind, count in sorted(kinds.items()))]
    lines = [style.separator.join(parts)]
    if failing:
        lines.append(f"See what apply would do with: {style.paint(f'numatune {again}', 'bold')}")
    return lines


def _kind(change: Change) -> str:
    """The status; a difference that would count if it were not held, or optional, says so."""
    setting, status = change.setting, change.status
    if change.held:
        return ON_HOLD[0]
    forgiven = setting.optional is True and counts(replace(setting, optional=None), status)
    return f"{status.value} but optional" if forgiven else status.value
