"""A Document on one host: every Setting that it asks for, or every mistake in it, all at once."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from numatune.errors import Problem, ProfileError
from numatune.profile.document import Document, Layer
from numatune.profile.duplicates import duplicates
from numatune.profile.evaluate import MISSING, Evaluation, Host, Unmet, variables
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, Row, problem, spelled
from numatune.settings.codecs import Text
from numatune.settings.model import Phase, Setting, SettingId, Source
from numatune.settings.plan import ProfileInfo
from numatune.settings.targets import Nothing
from numatune.topology.model import Topology

if TYPE_CHECKING:
    from numatune.knobs.base import Knob

OWN_KEYS: Final = ("name", "summary", "version", "requires", "extends", "vars", "devices", "disruption", "on_error")
LATER: Final = ("shm", "weighted_interleave", "tiering", "cpufreq", "workqueues", "net_queues", "launch")
"""Sections that the language has and this version does not carry out."""

OnError = Literal["continue", "rollback"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the profiles ask of this host.

    notes  for people: which profile's value took the place of another's, when several were asked for at once
    """

    profiles: tuple[ProfileInfo, ...]
    settings: tuple[Setting, ...]
    allow_disruption: bool = False
    on_error: OnError = "continue"
    launch: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def resolve(document: Document, topology: Topology) -> Resolved:
    """Work a document out on a host. Raises ProfileError with everything that is wrong, before any host is touched."""
    work = _Resolution(document, topology)
    settings = work.settings()
    if work.problems:
        order = list(document.files)
        unique = dict.fromkeys(sorted(work.problems, key=lambda found: _place(found, order)))
        raise ProfileError(tuple(unique))
    return Resolved(
        document.profiles(),
        settings,
        allow_disruption=work.word("disruption", ("allow", "forbid")) == "allow",
        on_error="rollback" if work.word("on_error", ("continue", "rollback")) == "rollback" else "continue",
        notes=tuple(work.notes),
    )


class _Resolution:
    """One run of `resolve`."""

    def __init__(self, document: Document, topology: Topology) -> None:
        self.document = document
        self.topology = topology
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self._overridden: dict[Path, str] = {}
        made, problems = variables(document.tree, document.variables)
        self.problems += problems
        self.host = Host(topology, made)
        self.met, self.unmet_layers = self._judge_layers()
        self.tree = document.merged([layer for layer, _ in self.met], self._told)

    def settings(self) -> tuple[Setting, ...]:
        """Everything asked for, in the order of the knobs; problems are kept."""
        from numatune.knobs import KNOBS  # noqa: PLC0415  # pydantic, only for who works a profile out

        self._unknown_keys([knob.name for knob in KNOBS])
        self._check_variables()
        for key, words in (("disruption", ("allow", "forbid")), ("on_error", ("continue", "rollback"))):
            self.word(key, words)
        try:
            _ = self.document.overrides
        except ProfileError as error:
            self.problems += error.problems
        found: list[Setting] = []
        for knob in KNOBS:
            found += self._section(knob, tuple(found))
        self.problems += duplicates(found)
        taken = {setting.id for setting in found}
        for layer, reason in self.unmet_layers:
            tree = self.document.merged([layer])
            for knob in KNOBS:
                entry = tree.entries.get(knob.name)
                if entry is None:
                    continue
                self._check_what_does_not_apply(knob, entry, whole=True)
                rows = _rows_of_section(knob.name, entry, reason)
                found += [row for row in rows if row.id not in taken]
                taken |= {row.id for row in rows}
        return tuple(found)

    def word(self, key: str, accepted: tuple[str, ...]) -> str:
        """A word at the top of the profile, "" when it is not there; a problem is kept."""
        entry = self.tree.entries.get(key)
        if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
            return ""
        text = entry.node.text if isinstance(entry.node, Leaf) else "something else"
        if text not in accepted:
            self.problems.append(problem(entry.source, (key,), text, ", ".join(accepted)))
        return text

    def _judge_layers(self) -> tuple[list[tuple[Layer, str]], list[tuple[Layer, str]]]:
        """Layers whose conditions, their own and those of all that they extend, hold here; and the others."""
        met: list[tuple[Layer, str]] = []
        unmet: list[tuple[Layer, str]] = []
        for layer in self.document.layers:
            reasons = []
            for label in layer.chain:
                for condition in self.document.files[label].tree.whens:
                    reason, problems = self.host.unmet(condition, ())
                    self.problems += problems
                    reasons += [reason] if reason else []
            (unmet if reasons else met).append((layer, reasons[0] if reasons else ""))
        return met, unmet

    def _section(self, knob: Knob[Any], before: tuple[Setting, ...]) -> list[Setting]:
        """The settings of one section; `before`: those of the knobs before it."""
        entry = self.tree.entries.get(knob.name)
        if entry is None:
            return []
        from numatune.knobs.base import Context, Refused  # noqa: PLC0415  # as above
        from numatune.profile.validate import parse  # noqa: PLC0415  # as above

        path: Path = (knob.name,)
        live = Evaluation(self.host)
        data = live.entry(entry, path)
        self.problems += live.problems
        if live.unmet:
            self._check_what_does_not_apply(knob, entry)
        rows = [row for unmet in live.unmet for row in _rows_of_unmet(unmet)]
        if data is MISSING:
            return rows
        parsed = parse(knob.model, data)
        if isinstance(parsed, list):
            self._complain(parsed, live, path)
            return rows
        if live.tainted:
            return rows
        try:
            made = knob.settings(parsed, Context(topology=self.topology, sources=live.sources, made=before))
        except Refused as refused:
            self._complain(refused.problems, live, path)
            return rows
        return [*(self._noted(setting) for setting in made), *rows]

    def _check_what_does_not_apply(self, knob: Knob[Any], entry: Entry, *, whole: bool = False) -> None:
        """Mistakes in what does not apply here are mistakes all the same. `whole`: nothing of the section applies."""
        from numatune.profile.validate import parse  # noqa: PLC0415  # as above

        everything = Evaluation(self.host, ignore_when=True)
        data = everything.entry(entry, (knob.name,), live=not whole)
        parsed = [] if data is MISSING else parse(knob.model, data)
        if isinstance(parsed, list):
            skipped = {(knob.name,)} if whole else everything.skipped
            inside = [(below, found) for below, found in parsed if _below((knob.name, *below), skipped)]
            self._complain(inside, everything, (knob.name,))

    def _complain(self, complaints: Iterable[tuple[Path, Problem]], seen: Evaluation, section: Path) -> None:
        for below, found in complaints:
            path = (*section, *below)
            if any(path[: len(bad)] == bad or bad[: len(path)] == path for bad in seen.tainted):
                continue
            source = next(seen.sources[path[:end]] for end in range(len(path), 0, -1) if path[:end] in seen.sources)
            self.problems.append(problem(source, path, found.found, found.accepted, found.hint))

    def _unknown_keys(self, knobs: Sequence[str]) -> None:
        known = (*OWN_KEYS, "when", *knobs)
        for key, entry in self.document.tree.entries.items():
            if key in LATER:
                found = f"the section {key} comes with a later version of numatune"
                self.problems.append(problem(entry.source, (key,), found, ", ".join(known)))
            elif key not in known:
                close = difflib.get_close_matches(key, (*known, *LATER), n=1)
                hint = f"did you mean {close[0]}?" if close else ""
                self.problems.append(problem(entry.source, (key,), f"unknown key {key}", ", ".join(known), hint))

    def _check_variables(self) -> None:
        """Work every variable out, so that a mistake in one is found where it is, used or not."""
        for name, entry in self.host.variables.items():
            if not isinstance(entry.node, Branch):
                evaluation = Evaluation(self.host)
                evaluation.entry(entry, ("vars", name))
                self.problems += evaluation.problems

    def _told(self, path: Path, old: Node, new: Node) -> None:
        """Note when one profile asked for takes another's value away, unless it extends the file that has it."""
        if path[0] in {"name", "summary", "version", "requires", "extends"} or _same(old, new):
            return
        for layer, _ in self.met:
            if layer.chain[-1] == new.source.file or new.source.file in layer.chain:
                if old.source.file not in layer.chain:
                    note = f"{spelled(path)}: {_shown(new)} ({new.source}) instead of {_shown(old)} ({old.source})"
                    self.notes.append(note)
                    self._overridden[path] = f"takes the place of {_shown(old)} ({old.source})"
                return

    def _noted(self, setting: Setting) -> Setting:
        for path, note in self._overridden.items():
            if setting.id in {f"{path[0]}:{'.'.join(path[1:])}", f"{path[0]}:{'/'.join(path[1:])}"}:
                return dataclasses.replace(setting, note="; ".join(filter(None, (setting.note, note))))
        return setting


def _rows_of_unmet(unmet: Unmet) -> list[Setting]:
    if len(unmet.path) == 1:
        return _rows_of_section(unmet.path[0], Entry(unmet.source, unmet.node), unmet.reason)
    return [_not_applicable(unmet.path, unmet.source, unmet.reason, unmet.node)]


def _rows_of_section(name: str, entry: Entry, reason: str) -> list[Setting]:
    """One row for each key of a section none of which applies."""
    if not isinstance(entry.node, Branch):
        return []
    return [_not_applicable((name, key), inner.source, reason, inner.node) for key, inner in entry.node.entries.items()]


def _not_applicable(path: Path, source: Source, reason: str, node: Node) -> Setting:
    section, *rest = path
    value = node.entries.get("value") if isinstance(node, Branch) else None
    why = node.entries.get("why") if isinstance(node, Branch) else None
    if rest[-1].isdecimal() and value and isinstance(value.node, Leaf):
        rest[-1] = value.node.text
    return Setting(
        id=SettingId(f"{section}:{'/'.join(rest)}"),
        target=Nothing("not-applicable", f"when {reason}"),
        codec=Text(),
        want=value.node.text if value and isinstance(value.node, Leaf) else "",
        phase=Phase.CHECK,
        section=section,
        source=source,
        why=why.node.text if why and isinstance(why.node, Leaf) else "",
        home="none",
    )


def _below(path: Path, skipped: Iterable[Path]) -> bool:
    return any(path[: len(top)] == top for top in skipped)


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


def _place(found: Problem, order: Sequence[str]) -> tuple[int, int]:
    """File, in the order of reading, and line."""
    for index, label in enumerate(order):
        if found.where.startswith(f"{label}:"):
            line = found.where[len(label) + 1 :].partition(":")[0]
            return index, int(line) if line.isdecimal() else 0
    return len(order), 0
