"""From the merged tree to plain data on one host: expressions worked out, conditions judged, what is none left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from numatune.errors import Problem, did_you_mean
from numatune.profile import when
from numatune.profile.failed import Endless, Failed, Told, Unknown
from numatune.profile.scalars import Trap, plain
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, Row, problem
from numatune.settings.model import Source
from numatune.topology.model import Topology

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numatune.profile.expressions import Expressions

MISSING: Final = object()
"""What null and an expression that yields none become: not managed."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A part of a profile whose condition does not hold here, or for which the host does not tell what it asks."""

    path: Path
    node: Node
    source: Source
    reason: str


@dataclass(slots=True)
class Evaluation:
    """One pass over (a part of) a merged tree.

    ignore_when  True: parts whose condition does not hold are worked out too, to find mistakes in them. A failing
                 expression in them is none: it may need what the condition asks for
    numbers_as_text   for conditions: a version such as 5.10 is no number, whatever YAML makes of it
    sources      line of each key and item of the data, by its path in the data
    untold       what asks for something that this host does not tell
    tainted      paths whose value could not be worked out: complaints about them would be noise
    skipped      paths of the data below a condition that does not hold (only with ignore_when)
    """

    host: Host
    ignore_when: bool = False
    numbers_as_text: bool = False
    problems: list[Problem] = field(default_factory=list)
    sources: dict[Path, Source] = field(default_factory=dict)
    tainted: set[Path] = field(default_factory=set)
    unmet: list[Unmet] = field(default_factory=list)
    untold: list[Unmet] = field(default_factory=list)
    skipped: set[Path] = field(default_factory=set)

    def entry(self, entry: Entry, path: Path, *, live: bool = True) -> Any:
        """The data of one key's value, or MISSING. `live` False: below a condition that does not hold."""
        return self._node(entry.node, path, entry.source, live=live)

    def _node(self, node: Node, path: Path, source: Source, *, live: bool) -> Any:
        self.sources[path] = source
        match node:
            case Leaf():
                return self._leaf(node, path, live=live)
            case Row():
                return self._row(node, path, live=live)
            case Branch():
                return self._branch(node, path, source, live=live)

    def _row(self, node: Row, path: Path, *, live: bool) -> list[Any]:
        items: list[Any] = []
        for item in node.items:
            value = self._node(item, (*path, str(len(items))), item.source, live=live)
            if value is not MISSING:
                items.append(value)
        return items

    def _branch(self, node: Branch, path: Path, source: Source, *, live: bool) -> Any:
        if reason := self._unmet(node, path):
            if not self.ignore_when:
                self.unmet.append(Unmet(path, node, source, reason))
                return MISSING
            self.skipped.add(path)
            live = False
        data: dict[str, Any] = {}
        for key, entry in node.entries.items():
            value = self.entry(entry, (*path, key), live=live)
            if value is not MISSING:
                data[key] = value
        if node.long_form and "value" in node.entries and "value" not in data and (*path, "value") not in self.tainted:
            return MISSING
        if node.entries and not data and not any(bad[: len(path)] == path for bad in self.tainted):
            return MISSING
        return data

    def _leaf(self, leaf: Leaf, path: Path, *, live: bool) -> Any:
        try:
            versions = self.numbers_as_text and isinstance(leaf.value, float)
            value = leaf.text if versions else self.host.scalar(leaf)
        except Failed as failed:
            self.tainted.add(path)
            if isinstance(failed, Unknown) and live:
                self.untold.append(Unmet(path, leaf, self.sources[path], failed.found))
            elif live and not isinstance(failed, Told):
                self.problems.append(problem(leaf.source, path, failed.found, failed.accepted, failed.hint))
            return MISSING
        return MISSING if value is None else value

    def _unmet(self, node: Branch, path: Path) -> str:
        """The first reason why one of the node's conditions does not hold, "" when all do."""
        first = ""
        for condition in node.whens:
            reason, problems = self.host.unmet(condition, path)
            self.problems += problems
            first = first or reason
        return first


class Host:
    """What a profile is worked out against: a topology and the profile's variables."""

    def __init__(self, topology: Topology, variables: Mapping[str, Entry]) -> None:
        self.topology = topology
        self.variables = variables
        self._expressions: Expressions | None = None

    def scalar(self, leaf: Leaf) -> Any:
        """The value of a scalar, or what its expression yields; a whole float is an int. None: not managed.

        Raises Failed.
        """
        if leaf.broken:
            raise Told("it could not be read")
        value: Any = leaf.value
        if isinstance(value, str) and ("{{" in value or "{%" in value or "{#" in value):
            value = self._engine().value(value)
        return _whole(value)

    def unmet(self, condition: Node, path: Path) -> tuple[str, list[Problem]]:
        """Why a condition does not hold ("" when it does), and what is wrong with the condition itself."""
        evaluation = Evaluation(self, numbers_as_text=True)
        data = evaluation.entry(Entry(condition.source, condition), (*path, "when"))
        if evaluation.untold:
            return evaluation.untold[0].reason, []
        if evaluation.tainted:
            return "its condition cannot be judged", evaluation.problems
        reason, invalid = when.unmet(data, self.topology)
        problems = []
        for wrong in invalid:
            inner = (*path, "when", wrong.key) if wrong.key else (*path, "when")
            source = evaluation.sources.get(inner, condition.source)
            problems.append(problem(source, inner, wrong.found, wrong.accepted, wrong.hint))
        return ("its condition is none" if problems else reason), problems

    def _engine(self) -> Expressions:
        if self._expressions is None:
            from numatune.profile import expressions, facts  # noqa: PLC0415  # Jinja2, only for who uses it

            variables = expressions.Variables(frozenset(self.variables), self._variable)
            self._expressions = expressions.Expressions({**facts.views(self.topology), "vars": variables})
        return self._expressions

    def _variable(self, name: str) -> Any:
        """What an expression gets for ``vars.NAME``. Raises Failed."""
        node = self.variables[name].node
        if isinstance(node, Branch):
            raise Told(f"vars.{name} is a mapping")
        try:
            if isinstance(node, Row):
                return tuple(self.scalar(item) for item in node.items if isinstance(item, Leaf))
            return self.scalar(node)
        except (Endless, Unknown):
            raise
        except Failed as failed:
            raise Told(f"vars.{name}: {failed.found}") from failed


def variables(tree: Branch, given: Mapping[str, str]) -> tuple[dict[str, Entry], list[Problem]]:
    """The profile's `vars` with those from the command line over them, and what is wrong with either."""
    entry = tree.entries.get("vars")
    problems: list[Problem] = []
    made: dict[str, Entry] = {}
    if entry and isinstance(entry.node, Branch):
        made.update(entry.node.entries)
        problems += [found for name, inner in made.items() for found in _no_variable(name, inner)]
    elif entry and not (isinstance(entry.node, Leaf) and entry.node.value is None):
        problems.append(problem(entry.source, ("vars",), "no mapping", "a mapping like {reserve_cores: 2}"))
    for name, text in given.items():
        source = Source(f"--var {name}", 0)
        if name not in made:
            known = ", ".join(sorted(made)) or "none: this profile has no variables"
            problems.append(problem(source, (), "no such variable", known, did_you_mean(name, made)))
            continue
        try:
            made[name] = Entry(source, Leaf(plain(text), source, text))
        except Trap as trap:
            problems.append(problem(source, (), f"{text} is {trap.kind}", "decimal numbers", trap.hint))
    return made, problems


def _no_variable(name: str, entry: Entry) -> Iterator[Problem]:
    """What is wrong with one variable as it is written."""
    if not name.isascii() or not name.isidentifier():
        yield problem(entry.source, ("vars", name), f"{name} is no name", "letters, digits and _, no digit first")
    if isinstance(entry.node, Branch):
        yield problem(entry.source, ("vars", name), "a mapping", "a scalar or a list")
    elif isinstance(entry.node, Row) and not all(isinstance(item, Leaf) for item in entry.node.items):
        yield problem(entry.source, ("vars", name), "a list of more than scalars", "a scalar, or a list of them")


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return [_whole(item) for item in value] if isinstance(value, tuple) else value
