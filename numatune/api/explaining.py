"""What a setting is: what is known of it anywhere, and its row on this host."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numatune.host.protocol import Reader
    from numatune.knobs.base import Knob
    from numatune.settings.plan import Change
    from numatune.views.explained import Explained

_WAYS_BACK = {"exact": "", "nearest": "near the original", "never": "none"}


def explain(
    reader: Reader, words: Sequence[str], profiles: Sequence[str] = (), *, variables: Mapping[str, str] | None = None
) -> tuple[Explained, ...]:
    """One or more answers for each word: an id, a kernel parameter, or a section of the profile.

    With profiles their values are told, else those of the applied set. Raises NumatuneError for a word that is none of
    these.
    """
    rows: dict[str, Change] = {change.setting.id: change for change in _rows(reader, profiles, variables or {})}
    return tuple(_explained(word, rows, reader) for word in words)


def _rows(reader: Reader, profiles: Sequence[str], variables: Mapping[str, str]) -> Sequence[Change]:
    from numatune.api.memory import recall
    from numatune.api.planning import Request, difference, options_for, plan

    if profiles:
        return plan(reader, Request(profiles=tuple(profiles), variables=variables, keep_released=True)).rows
    memory = recall(reader)
    if memory.applied is None:
        return ()
    options = options_for(frozenset(), allow_disruption=False, retry=False)
    return difference(memory.applied.settings, reader, options, memory)


def _explained(word: str, rows: Mapping[str, Change], reader: Reader) -> Explained:
    from numatune.knobs import knobs
    from numatune.settings.applied import PERSIST

    known = {knob.name: knob for knob in knobs()}
    if word in known:
        return _section(known[word], rows.values())
    sid = next((sid for sid in (word, *(f"{name}:{word}" for name in known)) if sid in rows), "")
    key = _sysctl_key(sid or word)
    if key:
        return _sysctl(key, rows.get(f"sysctl:{key}"), reader)
    section = rows[sid].setting.section if sid else word.partition(":")[0]
    if section in known:
        return _setting(sid or word, rows.get(sid), known[section])
    if section == PERSIST:
        return _persisting(sid or word, rows.get(sid))
    raise _unknown(word, [*rows, *known])


def _section(knob: Knob[Any], rows: Iterable[Change]) -> Explained:
    from collections import Counter

    from numatune.views.explained import Explained

    statuses = Counter(change.status.value for change in rows if change.setting.section == knob.name)
    here = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    known = (*_what(knob), ("here", here or "no profile that is applied or named has this section"))
    return Explained(f"{knob.name}: a section of the profile", known)


def _setting(sid: str, change: Change | None, knob: Knob[Any]) -> Explained:
    from numatune.views.explained import Explained

    known = [*_what(knob)]
    if change is None:
        known.append(("here", "no profile that is applied or named asks for it"))
        return Explained(sid, tuple(known))
    return Explained(sid, (*known, *_limits(change)), change, _check(change))


def _limits(change: Change) -> Iterator[tuple[str, str]]:
    """Where a setting is not to be had, and how well it comes back."""
    from numatune.settings.targets import KernelFile

    target, undo = change.setting.target, change.setting.undo
    if isinstance(target, KernelFile) and target.absent:
        yield "kernels", target.absent
    if undo != "exact":
        yield "way back", _WAYS_BACK[undo]


def _persisting(sid: str, change: Change | None) -> Explained:
    from numatune.views.explained import Explained

    what = ("what", "no part of a profile: with apply --persist it brings the others back after a reboot")
    if change is None:
        return Explained(sid, (what, ("here", "nothing of that name is applied")))
    return Explained(sid, (what,), change, _check(change))


def _sysctl(key: str, change: Change | None, reader: Reader) -> Explained:
    """With what the catalogue knows, and the value that is there, whether or not a profile asks for one."""
    from numatune.engine import captured
    from numatune.knobs.sysctl import path_of
    from numatune.knobs.sysctl_catalogue import CATALOGUE, UNKNOWN, misspelt
    from numatune.views.explained import Explained

    known = CATALOGUE.get(key, UNKNOWN)
    low, high = ("" if bound is None else str(bound) for bound in (known.min, known.max))
    facts = [
        (
            "what",
            known.about or ("a kernel parameter" if key in CATALOGUE else "not in numatune's catalogue"),
        ),
        ("range", f"{low} to {high}" if low and high else f"{low} and more" if low else ""),
        ("choices", ", ".join(known.choices)),
        ("coupled", f"each write zeroes {known.partner}" if known.partner else ""),
        ("kernels", known.absent),
        ("side effect", known.note),
        ("way back", _WAYS_BACK[known.undo]),
        ("an action", known.action),
    ]
    if change is None:
        text = reader.read(path_of(key)).text
        if text is None and key not in CATALOGUE:
            close = misspelt(key)
            raise _unknown(key, [close] if close else list(CATALOGUE))
        absent = "not in this captured tree" if captured.lacks(path_of(key), reader) else "this kernel has no such file"
        facts.append(("holds here", f"nothing: {absent}" if text is None else text.strip()))
    check = f"sysctl -n {key}"
    return Explained(f"sysctl:{key}", tuple((name, text) for name, text in facts if text), change, check)


def _what(knob: Knob[Any]) -> list[tuple[str, str]]:
    """The knob's own words: its module's head, how its section is written, and what is written inside that."""
    import sys

    parts = knob.model.model_json_schema().get("$defs", {})
    texts = [
        ("what", sys.modules[knob.settings.__module__].__doc__),
        ("written as", knob.model.__doc__),
        *((name, part.get("description")) for name, part in parts.items() if not name.startswith("Asked")),
    ]
    return [(heading, _lines(text)) for heading, text in texts if text]


def _lines(text: str) -> str:
    """A docstring with its paragraphs and definitions (``key  what it means``) in one line each."""
    import inspect
    import re

    lines: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        defines = re.match(r"\S+(?:, \S+)*  +\S", line)
        if not line or defines or not lines or not lines[-1]:
            lines.append(re.sub(r"  +", ": ", line.strip(), count=1) if defines else line.strip())
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(line for line in lines if line)


def _sysctl_key(word: str) -> str:
    """The canonical key when the word is one, "" else: ``vm/swappiness``, ``sysctl:vm.swappiness``, its file's path."""
    from numatune.knobs.sysctl import canonical

    written = word.removeprefix("sysctl:").removeprefix("/proc/sys/")
    if not written or (":" in written and written == word) or ("." not in written and "/" not in written):
        return ""
    try:
        return canonical(written)
    except ValueError:
        return ""


def _check(change: Change) -> str:  # noqa: PLR0911  # one a kind
    """The command that shows the value without numatune."""
    from numatune.settings.targets import (
        Cgroup,
        Fact,
        Folder,
        HugepagePool,
        IrqAffinity,
        KernelFile,
        Module,
        Mount,
        MountOption,
        Nothing,
        OwnedFile,
        UnitProperty,
        UnitState,
    )

    match change.setting.target:
        case UnitProperty(unit=unit, name=name):
            return shlex.join(("systemctl", "show", "-p", name, unit))
        case UnitState(unit=unit, aspect=aspect):
            return shlex.join(("systemctl", "is-active" if aspect == "active" else "is-enabled", unit))
        case Mount(path=path) | MountOption(path=path):
            return shlex.join(("findmnt", "-o", "FSTYPE,FS-OPTIONS", path))
        case Cgroup(path=path) | Folder(path=path):
            return shlex.join(("ls", "-d", path))
        case Module(name=name):
            return shlex.join(("modinfo", name))
        case KernelFile() | HugepagePool() | IrqAffinity() | OwnedFile() | Fact():
            return shlex.join(("cat", change.seen.where)) if change.seen.where else ""
        case Nothing():
            return ""


def _unknown(word: str, known: Sequence[str]) -> Exception:
    from difflib import get_close_matches

    from numatune.errors import NumatuneError

    close = get_close_matches(word, known, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else "numatune plan PROFILE -v lists the ids of a profile"
    return NumatuneError(
        "", f"nothing is known of {word!r}", accepted="an id, a kernel parameter, a section", hint=hint
    )
