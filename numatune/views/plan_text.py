"""A plan and what became of it, for people: grouped, aligned, and closed by a line that names the next command."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from numatune.settings.model import Impact, SettingId
from numatune.settings.plan import AS_WANTED, Action, Change, HostInfo, Outcome, Plan, ProfileInfo, Status, counts
from numatune.views.names import profile_line
from numatune.views.rows import ON_HOLD, rows
from numatune.views.style import Style
from numatune.views.table import table

_LAST = {Status.OK.value: 1, Status.UNCHANGEABLE.value: 2, Status.NOT_APPLICABLE.value: 3}
"""What the summary tells last, because nobody need act on it."""


_LONG_ROOT = 32


def plan(made: Plan, style: Style, *, again: str = "", captured: str = "", verbose: bool = False) -> str:
    """What would be done. `again`: the words after ``numatune apply`` that would carry this plan out; "": not told.

    captured  the tree that was given for a host elsewhere
    """
    lines = [
        *_head("Plan", made.profiles, made.host, style),
        *_notes(made, style),
        *table(rows(made.rows, verbose=verbose), style, verbose=verbose),
    ]
    return "\n".join([*lines, "", *_summary(made, style), *(_next(made, style, again, captured) if again else ())])


def report(  # noqa: PLR0913  # a report tells what became of a plan, and of its run
    made: Plan,
    outcomes: Mapping[SettingId, Outcome],
    style: Style,
    *,
    run: int | None,
    taken_back_by: int | None = None,
    verbose: bool = False,
) -> str:
    """What was done. `run`: the number that rollback takes; None when nothing was to do.

    taken_back_by  the rollback that undid all of it, because a write was refused
    """
    done = table(rows(made.rows, outcomes, verbose=verbose), style, verbose=verbose)
    lines = [
        *_head("Applied" if taken_back_by is None else "Tried", made.profiles, made.host, style),
        *_notes(made, style),
        *done,
        "",
        *_results(made.rows, outcomes, style),
    ]
    if taken_back_by is not None:
        lines += style.wrap(f"A write was refused, so run {run} was taken back (run {taken_back_by}).")
    elif run is not None and any(outcome.changed for outcome in outcomes.values()):
        lines += _command(f"Take run {run} back with:", "sudo numatune rollback", style)
    elif run is None:
        left = any(counts(change.setting, change.status, applying=True) for change in made.rows)
        lines.append("Nothing could be done." if left else "Nothing was to do.")
    return "\n".join(lines)


def _head(verb: str, profiles: Sequence[ProfileInfo], host: HostInfo, style: Style) -> list[str]:
    where = "this host" if host.root == "/" else _short(host.root)
    machine = " ".join(filter(None, ("Linux", host.kernel, host.arch)))
    nodes = f"nodes {host.nodes}" if host.nodes else "no NUMA nodes"
    cpus = f"CPUs {host.cpus}" if host.cpus else "CPUs unknown"
    first, *rest = style.wrap(f"{verb}: {profile_line(profiles)}")
    about = style.wrap(style.spell(f"on {where}: {machine}, {nodes}, {cpus}"))
    return [style.paint(first, "bold"), *rest, *(style.paint(line, "dim") for line in about)]


def _notes(made: Plan, style: Style) -> list[str]:
    """The notes that no row tells."""
    told = [change.setting.note for change in made.to_do]
    notes = [note for note in made.notes if not any(note in text for text in told)]
    pieces = [style.wrap(f"note: {style.spell(note)}", 2) for note in notes]
    return [style.paint("  " * bool(place) + piece, "dim") for note in pieces for place, piece in enumerate(note)]


def _short(root: str) -> str:
    """A path that leaves room on its line."""
    return root if len(root) <= _LONG_ROOT else f"…/{root.rpartition('/')[2]}"


def _summary(made: Plan, style: Style) -> list[str]:
    kinds = Counter(_kind(change) for change in made.rows)
    parts = [style.paint(f"{kinds.pop('to change', 0)} to change", "bold")]
    parts += [f"{count} {kind}" for kind, count in sorted(kinds.items(), key=_order)]
    return [style.separator.join(parts)]


def _order(counted: tuple[str, int]) -> int:
    return _LAST.get(counted[0], 0)


def _kind(change: Change) -> str:
    if change.action is not Action.NONE:
        return "to change"
    if change.held:
        return ON_HOLD[0]
    return "held back" if change.status is Status.DRIFTED else change.status.value


def _next(made: Plan, style: Style, again: str, captured: str) -> list[str]:
    if all(change.held or change.status in AS_WANTED for change in made.rows):
        return ["Nothing to do."]
    held_back = [change for change in made.rows if _is_held_back(change)]
    lines: list[str] = []
    if made.to_do:
        place = " on that host" if captured else ""
        lines += _command(f"Make it so{place} with:", f"sudo numatune apply {again}", style)
    if any(change.impact is Impact.DISRUPTS and not change.seen.unsafe for change in held_back):
        command = f"sudo numatune apply {again} --allow-disruption"
        lines += _command("Let in what disrupts running work with:", command, style)
    if unsafe := [change.setting.id for change in held_back if change.seen.unsafe]:
        words = " ".join(f"--allow-unsafe {sid}" for sid in unsafe)
        what = "it" if len(unsafe) == 1 else "them"
        lines += _command(f"Write {what} all the same with:", f"sudo numatune apply {again} {words}", style)
    stuck = [change for change in made.rows if change not in held_back and _is_stuck(change)]
    if stuck:
        lines += _command("More on what cannot be changed:", _explain(stuck[0], again, captured), style)
    return lines


def _explain(change: Change, again: str, captured: str) -> str:
    """The command that tells of a row, on the host and by the profiles that this plan is of."""
    root = f" --root {shlex.quote(captured)}" if captured else ""
    profiles = itertools.takewhile(lambda word: not word.startswith("-"), again.split())
    return f"numatune{root} explain {change.setting.id}{''.join(f' --profile {name}' for name in profiles)}"


def _is_held_back(change: Change) -> bool:
    """Whether a flag would let it in."""
    return change.action is Action.NONE and change.status is Status.DRIFTED and not change.held


def _is_stuck(change: Change) -> bool:
    return change.action is Action.NONE and not change.held and counts(change.setting, change.status)


def _command(text: str, command: str, style: Style) -> list[str]:
    """A command is never broken over lines: it is there to be copied."""
    painted = style.paint(command, "bold")
    return [f"{text} {painted}"] if len(text) + len(command) < style.width else [text, f"  {painted}"]


def _results(changes: Iterable[Change], outcomes: Mapping[SettingId, Outcome], style: Style) -> list[str]:
    changed = 0  # rows: what the kernel has moved beside one is told there
    kinds: Counter[str] = Counter()
    for change in changes:
        outcome = outcomes.get(change.setting.id)
        changed += bool(outcome and outcome.changed)
        status = outcome.status if outcome else change.status
        kinds[_kind(change) if status is Status.DRIFTED and change.action is Action.NONE else status.value] += 1
    parts = [style.paint(f"{changed} changed", "bold")]
    parts += [f"{count} {kind}" for kind, count in sorted(kinds.items(), key=_order)]
    return [style.separator.join(parts)]
