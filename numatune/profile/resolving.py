"""A Document on one host: every Setting that it asks for, or every mistake in it, all at once."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from numatune.cpus import CpuSet
from numatune.errors import Problem, ProfileError, did_you_mean
from numatune.knobs import SECTIONS, knobs
from numatune.profile import devices
from numatune.profile.document import Document, Layer
from numatune.profile.duplicates import duplicates
from numatune.profile.evaluate import Evaluation, Host, variables
from numatune.profile.tree import Branch, Leaf, Node, Path, Row, problem, spelled
from numatune.settings.model import Setting
from numatune.settings.plan import ProfileInfo
from numatune.topology.model import Topology

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numatune.knobs.base import Knob

_INDEX: Final = re.compile(r"\[[0-9]+\]")
OWN_KEYS: Final = (
    "name",
    "summary",
    "version",
    "requires",
    "extends",
    "vars",
    "devices",
    "disruption",
    "on_error",
    "on_unmet",
)
WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "disruption": ("forbid", "allow"),
    "on_error": ("continue", "rollback"),
    "on_unmet": ("stop", "warn"),
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the profiles ask of this host.

    notes  for people: which profile's value took the place of another's, when several were asked for at once
    """

    profiles: tuple[ProfileInfo, ...]
    settings: tuple[Setting, ...]
    allow_disruption: bool = False
    on_error: Literal["continue", "rollback"] = "continue"
    on_unmet: Literal["stop", "warn"] = "stop"
    launch: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def resolve(document: Document, topology: Topology) -> Resolved:
    """Work a document out on a host. Raises ProfileError with everything that is wrong, before any host is touched."""
    work = _Resolution(document, topology)
    work.check_top()
    settings = work.settings()
    if work.problems:
        raise ProfileError(_in_order(work.problems, list(document.files)))
    return Resolved(
        document.profiles(),
        tuple(settings),
        allow_disruption=work.word("disruption") == "allow",
        on_error="rollback" if work.word("on_error") == "rollback" else "continue",
        on_unmet="warn" if work.word("on_unmet") == "warn" else "stop",
        notes=tuple(work.overridden.values()),
    )


class _Resolution:
    """One run of `resolve`. `overridden`: settings of one profile that another took the place of."""

    def __init__(self, document: Document, topology: Topology) -> None:
        self.document = document
        self.overridden: dict[Path, str] = {}
        made, problems = variables(document.tree, document.variables)
        self.problems: list[Problem] = [*document.problems, *problems]
        self.host = Host(topology, made)
        self.met, self.unmet = self._judge_layers()
        self.tree = document.merged(self.met, self._told)

    def check_top(self) -> None:
        """Keep everything that is wrong outside the knobs' sections."""
        self._check_keys()
        self._check_words()
        self._check_variables()
        self._check_devices()

    def _check_keys(self) -> None:
        known = (*OWN_KEYS, "when", *SECTIONS)
        for key, entry in self.document.tree.entries.items():
            if key not in known:
                hint = _belongs_below(key, tuple(knobs())) or did_you_mean(key, known)
                self.problems.append(problem(entry.source, (key,), f"unknown key {key}", ", ".join(known), hint))

    def _check_words(self) -> None:
        for key, words in WORDS.items():
            entry = self.document.tree.entries.get(key)
            if entry and _text(entry.node) not in (*words, ""):
                hint = did_you_mean(_text(entry.node), words)
                self.problems.append(problem(entry.source, (key,), _text(entry.node), ", ".join(words), hint))

    def _check_variables(self) -> None:
        for name, variable in self.host.variables.items():
            evaluation = Evaluation(self.host)
            evaluation.entry(variable, ("vars", name))
            self.problems += evaluation.problems

    def _check_devices(self) -> None:
        found, problems = devices.overrides(self.document.tree)
        self.problems += problems
        nodes = CpuSet(node.id for node in self.host.topology.nodes)
        here = {device.address for device in self.host.topology.devices}
        for address, node in found.items():
            if nodes and address in here and node not in nodes:
                self.problems.append(devices.wrong_node(self.document.tree, address, node, nodes))

    def settings(self) -> list[Setting]:
        """Everything that is asked for, in the order of the knobs."""
        from numatune.profile.sections import Sections  # noqa: PLC0415  # pydantic, only for who works a profile out

        sections = Sections(self.host)
        for knob in knobs(self.tree.entries):
            sections.add(knob, self.tree.entries[knob.name])
        self.problems += duplicates(sections.made)
        for layer, reason in self.unmet:
            tree = self.document.merged([layer])
            for knob in knobs(tree.entries):
                sections.skip(knob, tree.entries[knob.name], reason)
        self.problems += sections.problems
        return [self._noted(setting) for setting in sections.made]

    def word(self, key: str) -> str:
        """A word at the top of the profile, "" when it is not there."""
        entry = self.tree.entries.get(key)
        return _text(entry.node) if entry else ""

    def _judge_layers(self) -> tuple[list[Layer], list[tuple[Layer, str]]]:
        """Layers whose conditions, their own and those of all that they extend, hold here; the others, and why not."""
        met: list[Layer] = []
        unmet: list[tuple[Layer, str]] = []
        for layer in self.document.layers:
            reasons = []
            for condition in (when for label in layer.chain for when in self.document.files[label].tree.whens):
                reason, problems = self.host.unmet(condition, ())
                self.problems += problems
                reasons += [reason] if reason else []
            if reasons:
                unmet.append((layer, "; ".join(dict.fromkeys(reasons))))
            else:
                met.append(layer)
        return met, unmet

    def _told(self, path: Path, old: Node, new: Node) -> None:
        """Note when one profile asked for takes another's value away, unless it extends the file that has it."""
        if path[0] in OWN_KEYS[:5] or path[-1] in {"why", "optional"} or _same(old, new):
            return
        layer = next(layer for layer in self.met if new.source.file in layer.chain)
        if old.source.file not in layer.chain:
            found = f"{_shown(new)} ({new.source}) takes the place of {_shown(old)} ({old.source})"
            self.overridden[path] = f"{spelled(path)}: {found}"

    def _noted(self, setting: Setting) -> Setting:
        for path, note in self.overridden.items():
            if setting.id in {f"{path[0]}:{'.'.join(path[1:])}", f"{path[0]}:{'/'.join(path[1:])}"}:
                return dataclasses.replace(setting, note="; ".join(filter(None, (setting.note, note))))
        return setting


def _belongs_below(key: str, knobs: Sequence[Knob[Any]]) -> str:
    """The hint for a key that is one of a section's: its line is not indented, or its section has no line."""
    if "." in key or "/" in key:
        return "keys of /proc/sys are indented below sysctl:"
    sections = [knob.name for knob in knobs if key in knob.model.model_fields]
    return f"it is a key of {' and of '.join(sections)}, and is indented below it" if sections else ""


def _text(node: Node) -> str:
    """A word as it was written, "" for null; what is no word at all is shown as what it is."""
    return (
        node.text if isinstance(node, Leaf) and node.value is not None else "" if isinstance(node, Leaf) else "no word"
    )


def _same(old: Node, new: Node) -> bool:
    match old, new:
        case Leaf(), Leaf():
            return old.value == new.value
        case Row(), Row():
            return len(old.items) == len(new.items) and all(map(_same, old.items, new.items))
        case Branch(), Branch():
            return old.entries.keys() == new.entries.keys() and all(
                _same(old.entries[key].node, new.entries[key].node) for key in old.entries
            )
    return False


def _shown(node: Node) -> str:
    return (node.text or "null") if isinstance(node, Leaf) else "a list" if isinstance(node, Row) else "a mapping"


def _in_order(problems: Sequence[Problem], files: Sequence[str]) -> tuple[Problem, ...]:
    """Each once, by file and line. What is looked at twice may have another index in a list that was shortened."""
    found: dict[tuple[str, str], Problem] = {}
    for each in sorted(problems, key=lambda problem: _place(problem, files)):
        found.setdefault((_INDEX.sub("[]", each.where), each.found), each)
    return tuple(found.values())


def _place(found: Problem, order: Sequence[str]) -> tuple[int, int]:
    """File, in the order of reading, and line."""
    for index, label in enumerate(order):
        if found.where.startswith(f"{label}:"):
            line = found.where[len(label) + 1 :].partition(":")[0]
            return index, int(line) if line.isdecimal() else 0
    return len(order), 0
