"""The keys of the profile language: what each takes and what is known of it, from schema, docstrings and a data file.

For `explain` and for the reference; nothing here has a say in what is planned or written.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from numatune.knobs import knobs
from numatune.knobs.base import Knob
from numatune.knobs.leaves import ANY, leaves
from numatune.knobs.ranges import spelled
from numatune.knobs.sysctl_catalogue import UNKNOWN, Known

_EVERYWHERE: Final = frozenset({"why", "optional"})
"""Keys that a part of a profile has besides its own: what a setting in its long form has."""
_OWN: Final = frozenset({"ids", "about", "accepts"})
"""What a key does not take over from what is above it."""
_PAGES: Final = frozenset({"abi", "fs", "kernel", "net", "user", "vm"})
"""Folders of /proc/sys with a page of their own in the kernel's documentation."""
_DEFINED: Final = re.compile(r"(\S+(?:, \S+)*)  +(\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a key, each in a sentence or two; the fields are explained at the head of data/keys.toml."""

    ids: tuple[str, ...] = ()
    accepts: str = ""
    about: str = ""
    why: str = ""
    kernels: str = ""
    effects: str = ""
    source: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a section.

    path     ("thp", "khugepaged", "defrag")
    accepts  what it takes, in words
    default  what it is when it is not said; "": not managed
    """

    path: tuple[str, ...]
    accepts: str
    default: str
    facts: Facts

    @property
    def name(self) -> str:
        """As it is written in the data file."""
        return ".".join(self.path)


def keys(knob: Knob[Any]) -> Iterator[Key]:
    """Every key of a section that holds a value, in the order of its classes."""
    for path, value, holder in leaves(knob.model.model_json_schema(), (knob.name,)):
        if (path[-1] in _EVERYWHERE and path[1:-1]) or (path[0] == "sysctl" and path[-1] != ANY):
            continue  # the keys of sysctl are those of its catalogue
        told = facts(path)
        about = told.about or _definitions(holder).get(path[-1], "")
        yield Key(
            path=path,
            accepts=told.accepts or spelled(value),
            default=_default(value.get("default")),
            facts=_with(told, about=about),
        )


def key_of(setting: str) -> Key | None:
    """The key that a setting's id comes of: the one whose glob fits best. None: no key makes such a setting."""
    fitting = [
        (len(glob), key)
        for section in _sections(setting)
        for key in _every(section)
        for glob in key.facts.ids
        if fnmatchcase(setting, glob)
    ]
    return max(fitting, key=lambda one: one[0])[1] if fitting else None


def named(word: str) -> Key | None:
    """The key that is written so, names filled in: ``thp.enabled``, ``cpusets.inference.slice.cpus``."""
    section = word.partition(".")[0]
    found = (key for key in _every(section) if key.path[1:] and fnmatchcase(word, key.name))
    return max(found, key=lambda key: len(key.name), default=None)


def facts(path: tuple[str, ...]) -> Facts:
    """What the data file says of a path; `ids` and `about` are its own, the rest may be of what is above it."""
    told = _told()
    above = [told.get(".".join(path[:end]), {}) for end in range(1, len(path) + 1)]
    own = above[-1] or (told.get(".".join(path[-2:]), {}) if "match" in path[-2:-1] else {})
    inherited = {name: value for one in above for name, value in one.items() if name not in _OWN}
    ids = own.get("ids", (f"{path[0]}:{'/'.join(path[1:])}", f"{path[0]}:{'/'.join(path[1:])}/*"))
    return Facts(**inherited, ids=tuple(ids), about=own.get("about", ""), accepts=own.get("accepts", ""))


def of_kernel_parameter(key: str, known: Known) -> Facts:
    """What is known of one sysctl, in the same fields."""
    general = facts(("sysctl", ANY))
    folder = key.partition(".")[0]
    page = {"vm": "vm.rst", "kernel": "kernel.rst", "fs": "fs.rst", "net": "net.rst", "user": "user.rst"}.get(
        folder, ""
    )
    coupled = f"each write zeroes {known.partner}" if known.partner else ""
    return Facts(
        about=known.about or ("a kernel parameter" if known is not UNKNOWN else "not in numatune's catalogue"),
        why=known.why or general.why,
        kernels=known.absent or (general.kernels if known is UNKNOWN else "Linux 6.1 to 7.3, and most before"),
        effects="; ".join(filter(None, (known.note, coupled))) or general.effects,
        source=known.source or f"{general.source}{page}",
        look=f"sysctl -n {key}",
    )


def _sections(setting: str) -> tuple[str, ...]:
    """Sections whose settings may have this id: cpusets calls its own cpuset:, services service:."""
    prefix = setting.partition(":")[0]
    return tuple(knob.name for knob in knobs() if knob.name in {prefix, f"{prefix}s"})


@cache
def _every(section: str) -> tuple[Key, ...]:
    """The keys of a section, then what is above them and makes settings too."""
    found = tuple(key for knob in knobs({section}) for key in keys(knob))
    named = {key.name for key in found}
    above = [name for name in _told() if name not in named and name.split(".")[0] == section]
    made = (
        Key(path=tuple(name.split(".")), accepts="", default="", facts=facts(tuple(name.split(".")))) for name in above
    )
    return (*found, *made)


@cache
def _told() -> Mapping[str, Mapping[str, Any]]:
    with (Path(__file__).parent / "data" / "keys.toml").open("rb") as file:
        return MappingProxyType(tomllib.load(file))


def _default(value: Any) -> str:
    """As a profile would say it; "" for what is not managed."""
    match value:
        case {"op": operator, "text": text}:
            return f"{operator} {text}"
        case None | [] | {}:
            return ""
    return str(value)


def _with(told: Facts, **changed: str) -> Facts:
    return Facts(**{**{field.name: getattr(told, field.name) for field in fields(told)}, **changed})


def _definitions(schema: Mapping[str, Any]) -> dict[str, str]:
    """``key  what it means`` of a class's docstring, by key; a line that goes on is indented."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(schema.get("description", "")).splitlines():
        if match := _DEFINED.fullmatch(line):
            names = match[1].split(", ")
            found |= dict.fromkeys(names, match[2])
        elif line.startswith("  ") and names:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return found
