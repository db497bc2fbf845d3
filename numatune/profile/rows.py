"""Rows for what was asked for and does not apply on this host, so that nothing vanishes silently."""

from __future__ import annotations

from numatune.profile.evaluate import Unmet
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path
from numatune.settings.codecs import Text
from numatune.settings.model import Phase, Setting, SettingId, Source
from numatune.settings.targets import Nothing


def of_unmet(unmet: Unmet) -> list[Setting]:
    """The rows of a part whose condition does not hold: of each of its keys when it is a whole section."""
    if len(unmet.path) == 1:
        return of_section(unmet.path[0], Entry(unmet.source, unmet.node), unmet.reason)
    return [_row(unmet.path, unmet.source, _does_not_apply(unmet.reason), unmet.node)]


def of_untold(untold: Unmet) -> Setting:
    """The row of a value that asks for what this host does not tell."""
    path = untold.path[:-1] if untold.path[-1] == "value" else untold.path
    return _row(path, untold.source, Nothing("unsupported", untold.reason), untold.node)


def of_section(name: str, entry: Entry, reason: str) -> list[Setting]:
    """One row for each key of a section none of which applies."""
    if not isinstance(entry.node, Branch):
        return []
    away = _does_not_apply(reason)
    return [_row((name, key), inner.source, away, inner.node) for key, inner in entry.node.entries.items()]


def _does_not_apply(reason: str) -> Nothing:
    return Nothing("not-applicable", f"when {reason}")


def _row(path: Path, source: Source, target: Nothing, node: Node) -> Setting:
    section, *rest = path
    value = _text(node, "value")
    if rest[-1].isdecimal() and value:
        rest[-1] = value
    return Setting(
        id=SettingId(f"{section}:{'/'.join(rest)}"),
        target=target,
        codec=Text(),
        want=value,
        phase=Phase.CHECK,
        section=section,
        source=source,
        why=_text(node, "why"),
        home="none",
    )


def _text(node: Node, key: str) -> str:
    """The text of a bare value, or of one key of a long form."""
    if isinstance(node, Branch) and key in node.entries:
        node = node.entries[key].node
    elif key != "value":
        return ""
    return node.text if isinstance(node, Leaf) else ""
