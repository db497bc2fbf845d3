"""One section of a merged profile on one host: worked out, checked, and made into settings by its knob."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from numatune.errors import Problem
from numatune.knobs.base import Context, Knob, Refused
from numatune.profile import rows
from numatune.profile.evaluate import MISSING, Evaluation, Host
from numatune.profile.keys import bad_keys
from numatune.profile.tree import Branch, Entry, Leaf, Path, problem
from numatune.profile.validate import Complaint, parse
from numatune.settings.model import Setting

if TYPE_CHECKING:
    from pydantic import BaseModel

_ROUNDS = 4
"""How often a section is parsed again: a mapping that lost its last key may be a mistake of its own, and so on."""


class Sections:
    """Works sections out one after the other; keeps the settings made so far, which later knobs may look at."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.made: list[Setting] = []
        self.problems: list[Problem] = []

    def add(self, knob: Knob[Any], entry: Entry) -> None:
        """Add a section's settings, rows for what does not apply, and everything that is wrong with it."""
        if knob.keys_are_values:
            entry = self._with_keys(entry, (knob.name,))
        evaluation = Evaluation(self.host)
        data = evaluation.entry(entry, (knob.name,))
        self.problems += evaluation.problems
        away = [row for unmet in evaluation.unmet for row in rows.of_unmet(unmet)]
        away += [rows.of_untold(untold) for untold in evaluation.untold]
        if evaluation.unmet:
            self._check(knob, entry)
        if data is not MISSING:
            self.made += self._settings(knob, entry, data, evaluation)
        self.made += away

    def skip(self, knob: Knob[Any], entry: Entry, reason: str) -> None:
        """Add rows for a section of a profile that does not apply as a whole; what is wrong with it still is."""
        self._check(knob, entry, whole=True)
        taken = {setting.id for setting in self.made}
        self.made += [row for row in rows.of_section(knob.name, entry, reason) if row.id not in taken]

    def _with_keys(self, entry: Entry, path: Path) -> Entry:
        """The section with its keys worked out; null takes a key away, like a value."""
        if not isinstance(entry.node, Branch):
            return entry
        keys: dict[str, Entry] = {}
        for written, inner in entry.node.entries.items():
            evaluation = Evaluation(self.host)
            key = Entry(inner.source, Leaf(written, inner.source, written))
            value = evaluation.entry(key, (*path, written))
            self.problems += evaluation.problems
            if value is not MISSING:
                keys[str(value)] = inner
        return Entry(entry.source, dataclasses.replace(entry.node, entries=keys))

    def _settings(self, knob: Knob[Any], entry: Entry, data: Any, evaluation: Evaluation) -> Sequence[Setting]:
        """The settings; where something is wrong, the rest is tried all the same, to find all mistakes at once."""
        if isinstance(entry.node, Branch):
            for key, bad in bad_keys(knob, entry.node):
                self.problems.append(bad)
                data.pop(key, None)
        parsed = parse(knob.model, data)
        if isinstance(parsed, list):
            self._complain(self._mistakes(parsed, knob, entry, evaluation), evaluation, knob.name)
        section = _what_is_left(knob, data, parsed) if isinstance(parsed, list) else parsed
        if section is None:
            return ()
        context = Context(topology=self.host.topology, sources=evaluation.sources, made=tuple(self.made))
        try:
            return knob.settings(section, context)
        except Refused as refused:
            self._complain(refused.problems, evaluation, knob.name)
            return ()

    def _mistakes(
        self, complaints: Sequence[Complaint], knob: Knob[Any], entry: Entry, evaluation: Evaluation
    ) -> list[Complaint]:
        """Those that are about the profile, and not about what its conditions have left of a mapping on this host."""
        unmet = [one.path for one in evaluation.unmet]
        doubtful = {path for path, _ in complaints if any(_is_below(below, [(knob.name, *path)]) for below in unmet)}
        if not doubtful:
            return list(complaints)
        whole = parse(knob.model, Evaluation(self.host, ignore_when=True).entry(entry, (knob.name,)))
        told = {path for path, _ in whole} if isinstance(whole, list) else set()
        return [(path, found) for path, found in complaints if path not in doubtful or path in told]

    def _check(self, knob: Knob[Any], entry: Entry, *, whole: bool = False) -> None:
        """Mistakes in what does not apply here are mistakes all the same. `whole`: nothing of the section applies."""
        everything = Evaluation(self.host, ignore_when=True)
        data = everything.entry(entry, (knob.name,), live=not whole)
        self.problems += everything.problems
        section = [] if data is MISSING else parse(knob.model, data)
        if isinstance(section, list):
            skipped: Iterable[Path] = {(knob.name,)} if whole else everything.skipped
            inside = [found for found in section if _is_below((knob.name, *found[0]), skipped)]
            self._complain(inside, everything, knob.name)

    def _complain(self, complaints: Iterable[Complaint], seen: Evaluation, section: str) -> None:
        for below, found in complaints:
            path = (section, *below)
            if any(path[: len(bad)] == bad or bad[: len(path)] == path for bad in seen.tainted):
                continue
            source = next(seen.sources[path[:end]] for end in range(len(path), 0, -1) if path[:end] in seen.sources)
            self.problems.append(problem(source, path, found.found, found.accepted, found.hint))


def _what_is_left(knob: Knob[Any], data: Any, complaints: Iterable[Complaint]) -> BaseModel | None:
    """The section without what was complained about, and what is none without that; None when nothing is left."""
    for _ in range(_ROUNDS):
        for path, _problem in complaints:
            if not path:
                return None
            _drop(data, path)
        left = parse(knob.model, data)
        if not isinstance(left, list):
            return left
        complaints = left
    return None


def _drop(data: Any, path: Path) -> None:
    """Take a key out of a mapping; a list in which something is wrong goes as a whole."""
    key, *below = path
    if not isinstance(data, dict) or key not in data:
        return
    if below and isinstance(data[key], dict):
        _drop(data[key], tuple(below))
    else:
        del data[key]


def _is_below(path: Path, tops: Iterable[Path]) -> bool:
    return any(path[: len(top)] == top for top in tops)
