"""Drift for people: nothing when clean, else one line a difference, and a line that says what it was compared with."""

from __future__ import annotations

from numatune.settings.drift import Drift, DriftRow
from numatune.settings.plan import Action, Status
from numatune.views.style import Paint, Style, plural
from numatune.views.values import asked, current, held, wanted

_PAINTS: dict[str, Paint] = {
    "M": "yellow",
    "D": "red",
    "R": "magenta",
    "-": "dim",
    "A": "green",
    "X": "cyan",
    "!": "red",
}
_LONG = 60


def drift(found: Drift, style: Style, *, verbose: bool = False) -> str:
    """The rows that count, are held, or were put back (all with `verbose`) and a summary; "" when there are none."""
    rows = [row for row in found.rows if verbose or row.counted or row.change.held or row.repaired]
    if not rows:
        return ""
    width = max(len(row.change.setting.id) for row in rows)
    lines = [line(row, width, style) for row in rows]
    return "\n".join([*lines, _summary(found, style)])


def notes(found: Drift) -> list[str]:
    """What must be known to read the rows."""
    made = [f"{found.anew}: values were worked out anew from the stored profile"] if found.anew else []
    return [*made, "the host was restarted since the last apply"] if found.rebooted and found.counted else made


def line(row: DriftRow, width: int, style: Style) -> str:
    """One row: its letters, its id in `width` columns, what it held and holds, what apply would do, who sets it too."""
    letters = "".join(style.paint(letter, _PAINTS[letter]) if letter in _PAINTS else letter for letter in row.letters)
    told = ", ".join(filter(None, (_outlook(row), row.change.held, row.note, *_owners(row))))
    text = f"{row.change.setting.id:{width}}  {_values(row)}"
    return f"{letters} {style.spell(f'{text}; {told}' if told else text)}"


def repaired(row: DriftRow) -> str:
    """One repair, for a log: ``put back sysctl:vm.swappiness: 60 -> 10; also set by tuned (pid 812)``, or why not."""
    change = row.change
    who = "".join(f"; {text}" for text in (row.note, *_owners(row)) if text)
    return f"put back {change.setting.id}: {current(change) or 'gone'} -> {wanted(change.setting)}{who}"


def _values(row: DriftRow) -> str:
    unread = row.change.seen.text is None and row.change.status is Status.DENIED
    now = "unknown" if unread else _short(current(row.change))
    if row.letters[0] not in "MDR" or row.last is None:
        return now
    return f"{_short(held(row.change, row.last.held))} → {'gone' if row.change.seen.text is None else now}"


def _outlook(row: DriftRow) -> str:
    """What the second letter means here, in words."""
    change = row.change
    if row.repaired:
        return f"put back to {_short(wanted(change.setting))}"
    match change.action:
        case Action.RELEASE:
            back = asked(change)
            return "no longer wanted: apply would " + ("take it away" if back is None else f"give {_short(back)} back")
        case Action.CREATE:
            return "apply would make it"
        case Action.NONE if row.letters[1] == "!":
            why = "" if change.held else f": {change.reason or change.status.value}"
            return f"wanted {_short(wanted(change.setting))}{why}"
        case Action.NONE:
            return ""
        case _:
            return f"apply would set {_short(wanted(change.setting))}"


def _owners(row: DriftRow) -> list[str]:
    conflicts = row.change.seen.conflicts
    return [f"also set{f' to {c.value}' if c.value else ''} by {c.owner} ({c.where})" for c in conflicts]


def _short(text: str | None) -> str:
    if not text:
        return "nothing"
    first = " ".join(text.split())
    return first if len(first) <= _LONG else f"{first[:_LONG]}…"


def _others(found: Drift) -> tuple[tuple[str, int], ...]:
    """What was shown without being counted."""
    held, back = sum(bool(row.change.held) for row in found.rows), sum(row.repaired for row in found.rows)
    return (("on hold", held), ("put back", back))


def _summary(found: Drift, style: Style) -> str:
    parts = [f"{plural(found.counted, 'difference')} from {' '.join(info.name for info in found.profiles)}"]
    parts += [f"{count} {word}" for word, count in _others(found) if count]
    if found.since:
        when = found.since.replace("T", " ").replace("Z", " UTC")
        run = f", run {found.run}" if found.run else ""
        parts.append(f"{'applied' if found.stored else 'last apply'} {when}{run}")
    return style.paint(style.separator.join(parts), "bold")
