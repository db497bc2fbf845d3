"""One spelling for the keys of a section, so that ``kernel/x`` and ``kernel.x`` meet when profiles merge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from numatune.errors import Problem
from numatune.profile.tree import Branch, Entry, problem

if TYPE_CHECKING:
    from numatune.knobs.base import Knob


def canonical_keys(tree: Branch) -> tuple[Branch, tuple[Problem, ...]]:
    """`tree` with the keys of each knob's section spelled in that knob's one way, and keys that are there twice.

    A key that is none stays as it is: `bad_keys` names it when the profile is worked out.
    """
    from numatune.knobs import KNOBS  # noqa: PLC0415  # pydantic, only for who works a profile out

    problems: list[Problem] = []
    entries = dict(tree.entries)
    for knob in KNOBS:
        entry = entries.get(knob.name)
        if entry is None or not isinstance(entry.node, Branch):
            continue
        keys: dict[str, Entry] = {}
        for written, inner in entry.node.entries.items():
            key = _spelled(knob, written)
            if key in keys:
                found = f"the same as {key} in line {keys[key].source.line}"
                problems.append(problem(inner.source, (knob.name, written), found, "each setting once"))
            keys.setdefault(key, inner)
        entries[knob.name] = Entry(entry.source, dataclasses.replace(entry.node, entries=keys))
    return dataclasses.replace(tree, entries=entries), tuple(problems)


def bad_keys(knob: Knob[Any], section: Branch) -> Iterator[tuple[str, Problem]]:
    """Keys of a section that are none, and why."""
    for written, entry in section.entries.items():
        try:
            knob.key(written)
        except ValueError as error:
            told = Problem.told(error)
            yield written, problem(entry.source, (knob.name, written), told.found, told.accepted, told.hint)


def _spelled(knob: Knob[Any], written: str) -> str:
    try:
        return knob.key(written)
    except ValueError:
        return written
