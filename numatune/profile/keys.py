"""One spelling for the keys of a section, so that ``kernel/x`` and ``kernel.x`` meet when profiles merge."""

from __future__ import annotations

import dataclasses

from numatune.errors import Problem, ProfileError
from numatune.profile.tree import Branch, Entry, problem


def canonical_keys(tree: Branch) -> Branch:
    """`tree` with the keys of each knob's section spelled in that knob's one way. Raises ProfileError."""
    from numatune.knobs import KNOBS  # noqa: PLC0415  # pydantic, only for who works a profile out

    problems: list[Problem] = []
    entries = dict(tree.entries)
    for knob in KNOBS:
        entry = entries.get(knob.name)
        if entry is None or not isinstance(entry.node, Branch):
            continue
        keys: dict[str, Entry] = {}
        for written, inner in entry.node.entries.items():
            try:
                key = knob.key(written)
            except ValueError as error:
                found, _, accepted = str(error).partition("; accepted: ")
                problems.append(problem(inner.source, (knob.name, written), found, accepted))
                continue
            if key in keys:
                found = f"the same as {key} in line {keys[key].source.line}"
                problems.append(problem(inner.source, (knob.name, written), found, "each setting once"))
            keys[key] = inner
        entries[knob.name] = Entry(entry.source, dataclasses.replace(entry.node, entries=keys))
    if problems:
        raise ProfileError(tuple(problems))
    return dataclasses.replace(tree, entries=entries)
