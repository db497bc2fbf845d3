"""What can be typed in place of a metavar of the help: names of profiles, runs, settings; a file; or nobody knows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from numatune.cli.candidates import Word
from numatune.cli.tree import Argument


def known(argument: Argument, before: Sequence[str]) -> tuple[tuple[Word, ...], bool]:
    """Words for an argument, and whether it may be a file. What cannot be read has none: nobody is told in mid-line."""
    from numatune.errors import NumatuneError

    metavar = argument.metavar
    if words := argument.choices or _policy_words().get(next(iter(argument.names), ""), ()):
        return tuple((word, "") for word in words), False
    try:
        found = tuple(LISTS[metavar](before)) if metavar in LISTS else ()
    except (OSError, NumatuneError):
        found = ()
    return found, metavar in FILES


def _root(before: Sequence[str]) -> str:
    """Where the state lies: that of --root, where it is a live host's tree."""
    if "--root-is-live" not in before:
        return "/"
    words = [word.removeprefix("--root=") for word in before if word.startswith("--root=")]
    words += [after for word, after in itertools.pairwise(before) if word == "--root"]
    return words[-1] if words else "/"


def _policy_words() -> Mapping[str, Sequence[str]]:
    """Words of options of `run` and `place`."""
    from numatune.launch import policy
    from numatune.launch.engines.recognise import ENGINES

    return {
        "--cpu": policy.CPU_MODES,
        "--smt": policy.SMT,
        "--memory": policy.MEMORY_MODES,
        "--fallback": policy.FALLBACKS,
        "--on-unknown": policy.ON_UNKNOWN,
        "--thp": policy.THP,
        "--engine": (*ENGINES, "none"),
    }


def _profiles(_: Sequence[str]) -> Iterator[Word]:
    from pathlib import Path

    from numatune.profile import lookup

    for found in lookup.catalogue():
        yield Path(found.path).stem, "shipped" if found.origin == "shipped" else found.path


def _runs(before: Sequence[str]) -> Iterator[Word]:
    from numatune.engine import paths, runs

    for run in reversed(runs.listed(paths.runs(paths.state(_root(before))))):
        start = run.start
        named = " ".join(info.name for info in start.profiles)
        yield str(run.number), " ".join(filter(None, (start.kind, named, start.when, start.why)))


def _settings(before: Sequence[str]) -> Iterator[Word]:
    from numatune.engine import applied, paths

    stored = applied.load(paths.applied(paths.state(_root(before))))
    for setting in stored.settings if stored else ():
        yield setting.id, " ".join(filter(None, (setting.want or "", setting.why)))


def _anything(before: Sequence[str]) -> Iterator[Word]:
    """What explain knows: settings that are applied, kernel parameters, sections."""
    from numatune.knobs.sysctl_catalogue import CATALOGUE

    yield from _settings(before)
    yield from _sections(before)
    yield from ((key, one.about) for key, one in CATALOGUE.items())


def _sections(before: Sequence[str]) -> Iterator[Word]:
    """Of a profile, or what compare calls so."""
    from numatune.api import comparing
    from numatune.knobs import SECTIONS

    names: Sequence[str] = comparing.SECTIONS if "compare" in before else SECTIONS
    yield from ((name, "") for name in names)


def _hosts(_: Sequence[str]) -> Iterator[Word]:
    yield "local", "this host"


LISTS: Final[Mapping[str, Callable[[Sequence[str]], Iterator[Word]]]] = {
    "PROFILE": _profiles,
    "A": _hosts,
    "B": _hosts,
    "RUN": _runs,
    "ID": _settings,
    "ID|SETTING": _anything,
    "SECTION,...": _sections,
}
"""Metavars with words of their own; given the words before the cursor."""

FILES: Final = frozenset(
    {"A", "B", "PROFILE", "FILE", "DIR", "DIR|TAR", "FILE|DIR", "OUT", "PATH", "PATH|NAME", "COMMAND"}
)
"""Metavars that a file can stand for."""

UNKNOWN: Final = frozenset(
    {"NAME=VALUE", "N", "N ...", "X", "LIST", "LIST ...", "NODE", "NODES", "NAME", "PID", "SECONDS", "DURATION", "TEXT"}
    | {"URL", "URL,...", "LINE", "WORD"}
)
"""Metavars for which nobody can know a word."""
