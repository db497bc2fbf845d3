"""The runs of a host, for people: one line a run, or one run with its rows."""

from __future__ import annotations

import errno as errnos
from collections.abc import Sequence

from numatune.settings.codecs import shown
from numatune.settings.history import PastRow, PastRun
from numatune.settings.plan import Action
from numatune.views.names import profile_line
from numatune.views.style import Paint, Style, plural

_PAINTS: dict[str, Paint] = {"in force": "green", "cut off": "red", "incomplete": "red", "running": "cyan"}


def runs(past: Sequence[PastRun], style: Style) -> str:
    """Newest first: number, time, who, what, how many settings it changed, and what became of it."""
    if not past:
        return "No runs: numatune has changed nothing on this host."
    cells = [
        ("run", "when (UTC)", "who", "kind", "changed", "state", "of what"),
        *(_cells(run) for run in reversed(past)),
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    lines = []
    for number, row in enumerate(cells):
        *head, last = (style.spell(cell) for cell in row)
        padded = [f"{cell:{width}}" for cell, width in zip(head, widths, strict=True)]
        padded[0] = f"{head[0]:>{widths[0]}}"
        padded[5] = style.paint(padded[5], *((_PAINTS[row[5]],) if row[5] in _PAINTS else ()))
        line = "  ".join([*padded, last]).rstrip()
        lines.append(style.paint(line, "dim") if number == 0 else line)
    return "\n".join(lines)


def run(past: PastRun, rows: Sequence[PastRow], style: Style) -> str:
    """One run with everything that it changed."""
    start = past.start
    state = f"taken back by run {past.taken_back_by}" if past.taken_back_by else past.state
    facts = [
        ("when", f"{_when(start.when)} UTC"),
        ("who", start.who),
        ("why", start.why),
        ("profiles", profile_line(start.profiles)),
        ("takes back", ", ".join(f"run {number}" for number in start.undoes)),
        ("state", state),
        ("spared", ", ".join(past.end.spared) if past.end else ""),
    ]
    lines = [style.paint(f"Run {start.run}: {start.kind}", "bold")]
    lines += [f"  {name:10}  {style.spell(text)}" for name, text in facts if text]
    lines += [""] if rows else []
    width = max((len(row.setting.id) for row in rows), default=0)
    return "\n".join([*lines, *(_row(row, width, style) for row in rows)])


def _cells(past: PastRun) -> tuple[str, ...]:
    start, end = past.start, past.end
    about = profile_line(start.profiles) or ", ".join(f"run {number}" for number in start.undoes)
    why = f"  # {start.why}" if start.why else ""
    state = f"taken back by {past.taken_back_by}" if past.taken_back_by else past.state
    changed = str(end.changed) if end else "?"
    return str(start.run), _when(start.when), start.who, start.kind, changed, state, about + why


def _when(moment: str) -> str:
    return moment.replace("T", " ").removesuffix("Z")


def _row(row: PastRow, width: int, style: Style) -> str:
    before, held = (shown(row.setting.codec, text) for text in (row.before, row.held))
    code = f"  ({errnos.errorcode.get(row.errno, row.errno)})" if row.errno else ""
    beside = "  beside it" if row.action is Action.NONE else ""
    again = f"  put back since: {plural(len(row.repairs), 'time')}" if row.repairs else ""
    value = f"{before or 'none'} → {held or 'none'}{code}{beside}{again}"
    return f"  {style.spell(row.setting.id):{width}}  {style.spell(value)}"
