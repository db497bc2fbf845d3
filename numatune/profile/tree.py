"""A YAML document as data that knows its lines: what merging and evaluation work on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from numatune.errors import Problem
from numatune.settings.model import Source

Scalar = bool | int | float | str | None
Path = tuple[str, ...]
"""Keys from the top: ("sysctl", "vm.swappiness"); list items by index: ("irq", "rules", "0")."""

LONG_FORM = frozenset({"value", "why", "optional"})
"""Keys of a setting's long form; `when`, which any mapping may have, is kept apart."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar, with the text that was written. `broken`: it has no value, and that was told when it was read."""

    value: Scalar
    source: Source
    text: str = ""
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A list."""

    items: tuple[Node, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping: the line of the key, and what it holds."""

    source: Source
    node: Node


@dataclass(frozen=True, slots=True)
class Branch:
    """A mapping. `whens`: its conditions, its own and those inherited; all must hold."""

    entries: Mapping[str, Entry]
    source: Source
    whens: tuple[Node, ...] = field(default=())

    @property
    def long_form(self) -> bool:
        """Whether this is ``{value: ..., why: ...}`` or a part of it."""
        return self.entries.keys() <= LONG_FORM


Node = Leaf | Row | Branch


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Every node of a tree with its path, conditions included (under ``when``), outside in."""
    yield path, node
    if isinstance(node, Row):
        for index, item in enumerate(node.items):
            yield from walk(item, (*path, str(index)))
    elif isinstance(node, Branch):
        for when in node.whens:
            yield from walk(when, (*path, "when"))
        for key, entry in node.entries.items():
            yield from walk(entry.node, (*path, key))


def spelled(path: Path) -> str:
    """A path for people: ``irq.rules[0].cpus``, ``sysctl.kernel.numa_balancing``."""
    text = ""
    for part in path:
        text += f"[{part}]" if part.isdecimal() and text else f".{part}" if text else part
    return text


def problem(source: Source, path: Path, found: str, accepted: str = "", hint: str = "") -> Problem:
    """A Problem whose `where` is ``file:line: path``; line 0 stands for what has no lines (an option)."""
    line = str(source) if source.line else source.file
    return Problem(f"{line}: {spelled(path)}" if path else line, found, accepted, hint)
