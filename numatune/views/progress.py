"""One line that tells how far a run is."""

from __future__ import annotations

from numatune.views.style import Style

_BAR = 20


def line(done: int, total: int, what: str, style: Style) -> str:
    """``━━━━━━━━────────────  12/40  sysctl:vm.swappiness``, never wider than the terminal."""
    filled = _BAR * done // max(total, 1)
    full, empty = ("━", "─") if style.unicode else ("#", ".")
    head = f"{full * filled}{empty * (_BAR - filled)}  {done:{len(str(total))}}/{total}  "
    return (head + style.spell(what))[: style.width - 1]
