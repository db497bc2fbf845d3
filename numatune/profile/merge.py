"""How profiles overlay each other: maps key by key, lists and bare values whole, the later one wins.

A setting has a short form (``0``) and a long form (``{value: 0, why: ..., optional: true}``); whichever is used, they
overlay as long forms. A new value takes the old value's `why` away, because that explained the old value; `optional`
stays until it is written again, and conditions (`when`) of both hold. null takes an inherited value away.
"""

from __future__ import annotations

from collections.abc import Callable

from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, Row

Overridden = Callable[[Path, Node, Node], None]
"""Told of every bare value or list that another takes the place of: path, old, new."""


def _nobody(_path: Path, _old: Node, _new: Node) -> None:
    """The default listener."""


def overlay(base: Node, over: Node, told: Overridden = _nobody, path: Path = ()) -> Node:
    """`base` with `over` laid on it."""
    match base, over:
        case Branch(), Branch():
            return _branches(base, over, told, path)
        case Branch(), Leaf(value=None):
            return over
        case Branch(), _ if _is_setting(base, path) and "value" in base.entries:
            return _branches(base, _long(over), told, path)
        case ((Leaf() | Row()), Branch()) if _is_setting(over, path) and not _is_null(base):
            return _branches(_long(base), over, told, path)
        case _:
            if not isinstance(base, Branch) and not isinstance(over, Branch):
                told(path, base, over)
            return over


def _branches(base: Branch, over: Branch, told: Overridden, path: Path) -> Branch:
    entries = dict(base.entries)
    a_setting = _is_setting(base, path) and "value" in base.entries
    if a_setting and "value" in over.entries and "why" not in over.entries:
        entries.pop("why", None)
    for key, entry in over.entries.items():
        inner = path if key == "value" and a_setting else (*path, key)
        below = entries.get(key)
        node = overlay(below.node, entry.node, told, inner) if below else entry.node
        entries[key] = Entry(entry.source, node)
    return Branch(entries, over.source, base.whens + over.whens)


def _long(bare: Node) -> Branch:
    return Branch({"value": Entry(bare.source, bare)}, bare.source)


def _is_setting(node: Branch, path: Path) -> bool:
    """Whether a mapping is a setting's long form: a variable may be called `value` and is none."""
    return len(path) > 1 and path[0] != "vars" and node.long_form


def _is_null(node: Node) -> bool:
    return isinstance(node, Leaf) and node.value is None
