"""A Document: the profiles that were asked for, with everything that they extend, merged but not yet worked out.

A file that several others extend counts once, at its first place, so that what one of them changes is not undone by
another that merely extends the same file.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from numatune import __version__
from numatune.errors import Problem, ProfileError, StateError
from numatune.profile import devices, lookup, merge
from numatune.profile.keys import canonical_keys
from numatune.profile.reader import MAX_BYTES, read
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, Row, problem, walk
from numatune.settings.model import Source
from numatune.settings.plan import ProfileInfo
from numatune.topology.model import Section

_STORED = 1
_REQUIRES = re.compile(r"\s*(>=|>|<=|<|==)\s*(\d+(?:\.\d+){0,3})\s*\Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z", re.ASCII)
_NODES = re.compile(r"\b(nodes|memory|devices)\b")
_DEVICES = re.compile(r"\bdevices\b")


@dataclass(frozen=True, slots=True)
class File:
    """One profile as it was written. `extends`: labels of the files below it, nearest last."""

    label: str
    text: str
    tree: Branch
    extends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """One profile that was asked for. `chain`: labels of its files, in the order in which they overlay each other."""

    name: str
    chain: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """Profiles as text and tree. Nothing here depends on a host.

    `problems`: mistakes that did not keep the files from being read; `resolve` reports them with all others.
    """

    files: Mapping[str, File]
    layers: tuple[Layer, ...]
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @functools.cached_property
    def tree(self) -> Branch:
        """All layers merged, whatever their conditions say."""
        return self.merged(self.layers)

    def merged(self, layers: Iterable[Layer], told: merge.Overridden = merge._nobody) -> Branch:  # noqa: SLF001  # its default
        """The given layers merged, without the conditions at their tops."""
        tree: Node = Branch({}, Source("", 0))
        for label in dict.fromkeys(label for layer in layers for label in layer.chain):
            file = self.files[label].tree
            tree = merge.overlay(tree, dataclasses.replace(file, whens=()), told)
        assert isinstance(tree, Branch)  # noqa: S101  # overlay of two mappings is one
        return tree

    def profiles(self, layers: Iterable[Layer] | None = None) -> tuple[ProfileInfo, ...]:
        """Name, version and hash of each profile asked for."""
        return tuple(self._info(layer) for layer in (self.layers if layers is None else layers))

    def _info(self, layer: Layer) -> ProfileInfo:
        own = self.files[layer.chain[-1]].tree
        made_of = [(label, self.files[label].text) for label in layer.chain]
        digest = hashlib.sha256(json.dumps([made_of, sorted(self.variables.items())]).encode())
        return ProfileInfo(layer.name, text_of(own, "version"), digest.hexdigest()[:16])

    @functools.cached_property
    def reads(self) -> frozenset[Section]:
        """Which parts of a host must be known to work this document out."""
        from numatune.knobs import KNOBS  # noqa: PLC0415  # pydantic, only for who works a profile out

        wanted = {Section.MACHINE, Section.CPUS}
        for knob in KNOBS:
            if knob.name in self.tree.entries:
                wanted |= knob.reads
        for file in self.files.values():
            for path, node in walk(file.tree):
                wanted |= _needed(path, node)
        for text in self.variables.values():
            wanted |= _needed((), Leaf(text, Source("", 0), text))
        return frozenset(wanted)

    @functools.cached_property
    def overrides(self) -> Mapping[str, int]:
        """The operator's word on which node a device is at: PCI address -> node id. Mistakes are left to `resolve`."""
        return devices.overrides(self.tree)[0]

    def sound(self) -> Document:
        """This document, for who does not work it out. Raises ProfileError with what is wrong on any host."""
        problems = (*self.problems, *devices.overrides(self.tree)[1])
        if problems:
            raise ProfileError(problems)
        return self

    def stored(self) -> tuple[tuple[str, str], ...]:
        """Everything this was made from, as (label, text); `restore` makes it again without the files."""
        head = {
            "stored": _STORED,
            "layers": [[layer.name, list(layer.chain)] for layer in self.layers],
            "extends": {label: list(file.extends) for label, file in self.files.items()},
            "variables": dict(self.variables),
        }
        return (("", json.dumps(head)), *((label, file.text) for label, file in self.files.items()))


def restore(stored: Sequence[tuple[str, str]]) -> Document:
    """The Document that `stored` came from. Raises StateError when it is none."""
    try:
        (_, head_text), *texts = stored
        head = json.loads(head_text)
        if head["stored"] != _STORED:
            raise StateError("", f"profiles stored in format {head['stored']}", accepted=f"format {_STORED}")
        files = {
            label: File(label, text, canonical_keys(read(text, label)[0])[0], tuple(head["extends"][label]))
            for label, text in texts
        }
        layers = tuple(Layer(name, tuple(chain)) for name, chain in head["layers"])
        return Document(files, layers, head["variables"])
    except (KeyError, TypeError, ValueError) as error:
        raise StateError("", f"no stored profiles: {error!r}") from error


def load(
    names: Sequence[str],
    *,
    variables: Mapping[str, str] | None = None,
    check: Callable[[str], None] | None = None,
    etc: str = lookup.ETC,
) -> Document:
    """The profiles of these names with everything that they extend.

    Raises ProfileError when a file cannot be found or read; what is wrong inside a file is found by `resolve`, together
    with everything else.

    variables  --var: text as YAML would spell it, over the profiles' own `vars`
    check      called with the path of every file outside the package before it is read; raises to refuse it. What is
               shipped is as trusted as the code beside it.
    """
    loader = _Loader(check, etc)
    layers: list[Layer] = []
    for name in names:
        label = loader.load(lookup_or_note(name, loader, etc), ())
        if label is not None:
            chain = tuple(loader.chain(label))
            layers.append(Layer(text_of(loader.files[label].tree, "name") or name, chain))
    if loader.fatal:
        raise ProfileError((*loader.fatal, *loader.problems))
    return Document(loader.files, tuple(layers), dict(variables or {}), tuple(loader.problems))


def lookup_or_note(name: str, loader: _Loader, etc: str) -> lookup.Found | None:
    """The file of a name given on the command line; a problem is noted and None comes back."""
    try:
        return lookup.find(name, etc=etc)
    except ProfileError as error:
        loader.fatal += error.problems
        return None


class _Loader:
    """Reads each file once, follows `extends`, keeps every problem."""

    def __init__(self, check: Callable[[str], None] | None, etc: str) -> None:
        self.files: dict[str, File] = {}
        self.fatal: list[Problem] = []
        self.problems: list[Problem] = []
        self._check = check
        self._etc = etc

    def load(self, found: lookup.Found | None, above: tuple[str, ...]) -> str | None:
        """Read a file and what it extends; its label, or None when it could not be read."""
        if found is None:
            return None
        if found.label in self.files:
            return found.label
        try:
            text = self._text(found)
            tree, problems = read(text, found.label)
        except ProfileError as error:
            self.fatal += error.problems
            return None
        if outdated := _outdated(tree):
            self.fatal.append(outdated)
            return None
        tree, doubled = canonical_keys(tree)
        self.problems += (*problems, *doubled, *_named(tree))
        below = [self._below(ref, found, (*above, found.label)) for ref in self._references(tree)]
        self.files[found.label] = File(found.label, text, tree, tuple(label for label in below if label))
        return found.label

    def chain(self, label: str) -> Iterable[str]:
        """Labels from the bottom to `label`, each once."""
        order: dict[str, None] = {}

        def visit(each: str) -> None:
            for base in self.files[each].extends:
                visit(base)
            order.setdefault(each)

        visit(label)
        return order

    def _below(self, ref: Leaf, beside: lookup.Found, above: tuple[str, ...]) -> str | None:
        where = problem(ref.source, ("extends",), "").where
        try:
            found = lookup.find(str(ref.value), beside=beside, where=where, etc=self._etc)
        except ProfileError as error:
            self.fatal += error.problems
            return None
        if found.label in above:
            circle = " → ".join((*above[above.index(found.label) :], found.label))
            self.fatal.append(Problem(where, f"a circle: {circle}", "profiles that do not lead back to themselves"))
            return None
        return self.load(found, above)

    def _references(self, tree: Branch) -> tuple[Leaf, ...]:
        entry = tree.entries.get("extends")
        if entry is None:
            return ()
        nodes = entry.node.items if isinstance(entry.node, Row) else (entry.node,)
        texts = tuple(node for node in nodes if isinstance(node, Leaf) and isinstance(node.value, str))
        if len(texts) != len(nodes):
            accepted = "a profile's name, a path, or a list of them"
            self.problems.append(problem(entry.source, ("extends",), "something that is no name", accepted))
        return texts

    def _text(self, found: lookup.Found) -> str:
        if self._check and found.origin != "shipped":
            self._check(found.path)
        try:
            with FilePath(found.path).open("rb") as file:
                data = file.read(MAX_BYTES + 4)
        except OSError as error:
            raise ProfileError((Problem(found.label, f"not readable: {os.strerror(error.errno or 0)}"),)) from error
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ProfileError((Problem(f"{found.label}:{line}", "a byte that is no UTF-8", "UTF-8 text"),)) from error


def text_of(tree: Branch, key: str) -> str:
    """The text of a key at the top of a profile, "" when it has none."""
    entry = tree.entries.get(key)
    return entry.node.text if entry and isinstance(entry.node, Leaf) and entry.node.value is not None else ""


def _named(tree: Branch) -> list[Problem]:
    name = tree.entries.get("name")
    if name is None:
        return [problem(tree.source, ("name",), "the profile has no name", "name: a word", "the only key it must have")]
    if not _NAME.match(text_of(tree, "name")):
        found = repr(text_of(tree, "name")) if isinstance(name.node, Leaf) else "no text"
        return [problem(name.source, ("name",), found, "up to 64 letters, digits, dots, dashes and underscores")]
    return []


def _outdated(tree: Branch) -> Problem | None:
    """What is wrong with `requires`: checked before everything else, so that a newer profile's keys need no excuse."""
    entry = tree.entries.get("requires")
    if entry is None:
        return None
    wanted = text_of(tree, "requires")
    accepted = 'a version like ">=0.1", or several with commas'
    for part in wanted.split(","):
        match = _REQUIRES.match(part)
        if not match:
            return problem(entry.source, ("requires",), repr(wanted), accepted)
        if not _satisfied(match[1], match[2]):
            found = f"needs numatune {wanted}, this is {__version__}"
            hint = "upgrade numatune" if match[1].startswith(">") else ""
            return problem(entry.source, ("requires",), found, hint=hint)
    return None


def _satisfied(operator: str, wanted: str) -> bool:
    want, have = ([int(part) for part in text.split(".")] for text in (wanted, __version__))
    width = max(len(want), len(have))
    want, have = (numbers + [0] * (width - len(numbers)) for numbers in (want, have))
    return {
        ">=": have >= want,
        ">": have > want,
        "<=": have <= want,
        "<": have < want,
        "==": have == want,
    }[operator]


def _needed(path: Path, node: Node) -> set[Section]:
    """The parts of a host that an expression or a condition at this place looks at."""
    if isinstance(node, Leaf) and "{{" in node.text:
        wanted = {Section.NODES} if _NODES.search(node.text) else set()
        return wanted | ({Section.DEVICES} if _DEVICES.search(node.text) else set())
    if path[-1:] == ("when",) and isinstance(node, Branch):
        wanted = {Section.NODES} if "cpu_nodes" in node.entries else set()
        wanted |= {Section.DEVICES} if "device" in node.entries else set()
        return wanted | ({Section.CGROUPS} if "cgroup" in node.entries else set())
    return set()


__all__ = ["Document", "Entry", "File", "Layer", "load", "restore", "text_of"]
