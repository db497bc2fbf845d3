"""One spelling for the keys of a section, so that ``kernel/x`` and ``kernel.x`` meet when profiles merge."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from numatune.errors import Problem
from numatune.knobs import knobs
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, problem

if TYPE_CHECKING:
    from numatune.knobs.base import Knob


def canonical_keys(tree: Branch) -> tuple[Branch, tuple[Problem, ...]]:
    """`tree` with the keys of each section, and those of devices, in one spelling; and keys that are there twice.

    A key that is none stays as it is: `bad_keys` or the knob name it when the profile is worked out.
    """
    problems: list[Problem] = []
    entries = dict(tree.entries)
    for knob in knobs(tree.entries):
        section = _respelled(entries[knob.name], knob.key, (knob.name,), problems)
        entries[knob.name] = _with_inner(section, knob, problems)
    if "devices" in entries:
        entries["devices"] = _written_out(_respelled(entries["devices"], str.lower, ("devices",), problems), "node")
    return dataclasses.replace(tree, entries=entries), tuple(problems)


def _with_inner(section: Entry, knob: Knob[Any], problems: list[Problem]) -> Entry:
    if not isinstance(section.node, Branch):
        return section
    entries = dict(section.node.entries)
    for name, inner in knob.inner.items():
        if name in entries:
            respelled = _respelled(entries[name], inner.key, (knob.name, name), problems)
            entries[name] = _written_out(respelled, inner.short)
    return Entry(section.source, dataclasses.replace(section.node, entries=entries))


def _respelled(entry: Entry, key: Callable[[str], str], path: Path, problems: list[Problem]) -> Entry:
    """A mapping with its keys in one spelling."""
    if not isinstance(entry.node, Branch):
        return entry
    keys: dict[str, Entry] = {}
    for written, inner in entry.node.entries.items():
        spelling = _spelled(key, written)
        if spelling in keys:
            found = f"the same as {spelling} in line {keys[spelling].source.line}"
            problems.append(problem(inner.source, (*path, written), found, "each setting once"))
        keys.setdefault(spelling, inner)
    return Entry(entry.source, dataclasses.replace(entry.node, entries=keys))


def _written_out(entry: Entry, short: str) -> Entry:
    """A mapping of which each bare value, or setting in its long form, is written as ``{short: value}``."""
    if not isinstance(entry.node, Branch):
        return entry
    keys = {
        key: Entry(inner.source, Branch({short: inner}, inner.node.source)) if _is_setting(inner.node) else inner
        for key, inner in entry.node.entries.items()
    }
    return Entry(entry.source, dataclasses.replace(entry.node, entries=keys))


def _is_setting(node: Node) -> bool:
    if isinstance(node, Branch):
        return node.long_form and "value" in node.entries
    return not (isinstance(node, Leaf) and node.value is None)


def bad_keys(knob: Knob[Any], section: Branch) -> Iterator[tuple[str, Problem]]:
    """Keys of a section that are none, and why."""
    for written, entry in section.entries.items():
        try:
            knob.key(written)
        except ValueError as error:
            told = Problem.told(error)
            yield written, problem(entry.source, (knob.name, written), told.found, told.accepted, told.hint)


def _spelled(key: Callable[[str], str], written: str) -> str:
    try:
        return key(written)
    except ValueError:
        return written
