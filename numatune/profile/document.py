"""A Document: the profiles that were asked for, with everything that they extend, merged but not yet worked out.

A file that several others extend counts once, at its first place, so that what one of them changes is not undone by
another that merely extends the same file.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numatune.errors import Problem, ProfileError, StateError
from numatune.knobs import knobs
from numatune.profile import devices, merge
from numatune.profile.keys import canonical_keys
from numatune.profile.reader import read
from numatune.profile.tree import Branch, Leaf, Node, Path, walk
from numatune.settings.model import Source
from numatune.settings.plan import ProfileInfo
from numatune.topology.model import Section

_STORED = 1
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

    problems  mistakes that did not keep the files from being read; `resolve` reports them with all others
    looked    every path that was looked at on the way, with its text; None where there was no file
    """

    files: Mapping[str, File]
    layers: tuple[Layer, ...]
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    looked: Mapping[str, str | None] = dataclasses.field(default_factory=dict, compare=False)

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
        made_of = [self.files[label].text for label in layer.chain]  # not where they lie: one profile, one hash
        digest = hashlib.sha256(json.dumps([made_of, sorted(self.variables.items())]).encode())
        return ProfileInfo(layer.name, text_of(own, "version"), digest.hexdigest()[:16])

    @functools.cached_property
    def reads(self) -> frozenset[Section]:
        """Which parts of a host must be known to work this document out."""
        wanted = {Section.MACHINE, Section.CPUS}
        for knob in knobs(self.tree.entries):
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


def text_of(tree: Branch, key: str) -> str:
    """The text of a key at the top of a profile, "" when it has none."""
    entry = tree.entries.get(key)
    return entry.node.text if entry and isinstance(entry.node, Leaf) and entry.node.value is not None else ""


def _needed(path: Path, node: Node) -> set[Section]:
    """The parts of a host that an expression or a condition at this place looks at."""
    if isinstance(node, Leaf) and "{{" in node.text:
        wanted = {Section.NODES} if _NODES.search(node.text) else set()
        return wanted | ({Section.DEVICES} if _DEVICES.search(node.text) else set())
    if path[-1:] == ("when",) and isinstance(node, Branch):
        wanted = {Section.NODES} if node.entries.keys() & {"cpu_nodes", "memory_only"} else set()
        wanted |= {Section.DEVICES} if "device" in node.entries else set()
        return wanted | ({Section.CGROUPS} if "cgroup" in node.entries else set())
    return set()
