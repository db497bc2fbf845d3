"""Strict YAML: one document, one mapping at its top, plain scalars of YAML 1.2, nothing that hides.

Works on PyYAML's events, so that no object is ever made from a tag. Keys are text. Refused: duplicate keys, tags, merge
keys, several documents, control characters, aliases that grow beyond a bound. Every problem has its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from numatune.errors import Problem, ProfileError
from numatune.knobs import knobs
from numatune.profile.lookup import MAX_BYTES
from numatune.profile.scalars import NULL, Trap, plain
from numatune.profile.syntax import unreadable
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, Row, problem
from numatune.settings.model import Source

MAX_NODES: Final = 20_000
"""Nodes after all aliases are followed: what a "billion laughs" document runs into."""
MAX_DEPTH: Final = 32

_TEXTS = frozenset({"name", "summary", "version", "why", "requires"})
"""Keys whose value is text whatever it looks like: ``version: 2026.10`` is no number."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
"""Also what turns the direction of writing, so that a line could read as another one."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, file: str) -> tuple[Branch, tuple[Problem, ...]]:
    """The tree of one profile, and what is wrong with it as YAML where the rest can still be read.

    Raises ProfileError when it cannot: broken syntax, too large, no mapping.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ProfileError((Problem(file, "more than 256 KiB", "a profile of at most 256 KiB"),))
    builder = _Builder(text, file)
    try:
        tree = builder.document()
    except yaml.YAMLError as error:
        builder.problems.append(unreadable(error, text, file))
    except _TooMuch as error:
        builder.problems.append(error.problem)
    else:
        return tree, tuple(builder.problems)
    raise ProfileError(tuple(builder.problems))


class _TooMuch(Exception):  # noqa: N818  # ends the reading of one document, never leaves this module
    """Reading stops here: what follows would only repeat it."""

    def __init__(self, found: Problem) -> None:
        super().__init__(str(found))
        self.problem = found


class _Builder:
    """Events in, tree and problems out."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._nodes = 0

    def document(self) -> Branch:
        next(self._events)  # the start of the stream
        event = next(self._events)
        if not isinstance(event, yaml.DocumentStartEvent):
            raise _TooMuch(Problem(self.file, "an empty file", "a mapping with at least `name`"))
        if event.tags or event.version not in {None, (1, 2)}:
            self._complain(event, (), "a directive", "YAML 1.2", "remove the line that begins with %")
        tree = self._node(next(self._events), ())
        next(self._events)  # the end of the document
        event = next(self._events)
        if isinstance(event, yaml.DocumentStartEvent):
            self._complain(event, (), "a second document", "one document a file", "remove the line ---")
        if not isinstance(tree, Branch):
            raise _TooMuch(problem(tree.source, (), _kind(tree), "a mapping with at least `name`"))
        return tree

    def _node(self, event: Any, path: Path) -> Node:
        if len(path) > MAX_DEPTH:
            raise _TooMuch(problem(self._source(event), (), f"more than {MAX_DEPTH} levels"))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        before = self._nodes
        self._count(event, 1)
        if event.tag is not None and event.tag != "":
            hint = "text that begins with ! is quoted"
            self._complain(event, path, f"the tag {event.tag}", "values without tags", hint)
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = self._leaf(event, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            items = self._until(yaml.SequenceEndEvent)
            node = Row(tuple(self._node(item, (*path, str(n))) for n, item in enumerate(items)), self._source(event))
        else:
            node = self._branch(event, path)
        if event.anchor:
            self._anchors[event.anchor] = (node, self._nodes - before)
        return node

    def _alias(self, event: Any, path: Path) -> Node:
        if event.anchor not in self._anchors:
            self._complain(event, path, f"*{event.anchor}, which names nothing above", hint="text with * is quoted")
            return Leaf(None, self._source(event), broken=True)
        node, size = self._anchors[event.anchor]
        self._count(event, size)
        return node

    def _branch(self, event: Any, path: Path) -> Branch | Leaf:
        entries: dict[str, Entry] = {}
        whens: list[Node] = []
        seen: dict[str, Source] = {}
        bad = False
        for key_event in self._until(yaml.MappingEndEvent):
            source = self._source(key_event)
            key = self._key(key_event, path)
            node = self._node(next(self._events), (*path, key))
            if not key:
                bad = True
                continue
            if key in seen:
                text = f"the key is there twice, first in line {seen[key].line}"
                self.problems.append(problem(source, (*path, key), text, "each key once"))
            elif key == "when" and path[:1] != ("vars",):
                whens.append(node)
            else:
                entries[key] = Entry(source, node)
            seen.setdefault(key, source)
        if bad and not seen:
            return Leaf(None, self._source(event), broken=True)
        return Branch(entries, self._source(event), tuple(whens))

    def _key(self, event: Any, path: Path) -> str:
        """The key's text; "" after a problem was noted."""
        if not isinstance(event, yaml.ScalarEvent):
            self._node(event, path)
            if isinstance(event, yaml.MappingStartEvent) and event.flow_style:
                self._complain(event, path, "{{ without quotes", 'an expression in quotes: "{{ ... }}"')
            else:
                self._complain(event, path, "a key that is no text", "keys of plain text")
            return ""
        key: str = event.value
        plainly = event.implicit[0]
        if event.tag or event.anchor:
            self._complain(event, (*path, key), "a tag or an anchor on a key", "keys of plain text")
        if plainly and key == "<<":
            self._complain(event, path, "the merge key <<", "extends, or an alias for the whole value")
        elif not key or not key.isprintable():
            self._complain(event, path, f"the key {key!r}", "keys of printable text in one line")
        elif ("{{" in key or "{%" in key) and not _may_ask(path):
            self._complain(event, path, f"an expression in the key {key}", "expressions in values")
        else:
            return key
        return ""

    def _leaf(self, event: Any, path: Path) -> Leaf:
        text: str = event.value
        source = self._source(event)
        if _CONTROL.search(text):
            self._complain(event, path, f"a control character in {text[:80]!r}", "printable text")
            return Leaf(None, source, broken=True)
        if not event.implicit[0]:
            return Leaf(text, source, text)
        if path and path[-1] in _TEXTS and path[0] != "vars":
            return Leaf(None if text in NULL else text, source, text)
        try:
            return Leaf(plain(text), source, text)
        except Trap as trap:
            self._complain(event, path, f"{text} is {trap.kind}", "decimal numbers", trap.hint)
            return Leaf(None, source, text, broken=True)

    def _until(self, end: type[Any]) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _count(self, event: Any, size: int) -> None:
        self._nodes += size
        if self._nodes > MAX_NODES:
            raise _TooMuch(
                problem(self._source(event), (), f"more than {MAX_NODES} values once all aliases are followed")
            )

    def _source(self, event: Any) -> Source:
        return Source(self.file, event.start_mark.line + 1)

    def _complain(self, event: Any, path: Path, found: str, accepted: str = "", hint: str = "") -> None:
        self.problems.append(problem(self._source(event), path, found, accepted, hint))


def _kind(node: Node) -> str:
    return "a list" if isinstance(node, Row) else f"the text {str(getattr(node, 'text', ''))[:40]!r}"


def _may_ask(path: Path) -> bool:
    """Whether the keys of this mapping may be expressions: those of a section whose knob says so."""
    return len(path) == 1 and any(knob.keys_are_values for knob in knobs(path))
