"""What every export of a set is made from, and what comes of it: pure data, worked out for one host."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace

from numatune.export.place import Place
from numatune.export.tuning.remarks import remarks
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import HostInfo, ProfileInfo
from numatune.settings.targets import Fact, Nothing, Trait

CHECKED = (Fact, Trait)
"""What is looked at and never written."""


@dataclass(frozen=True, slots=True)
class File:
    """One file: where it belongs on the host, and what is in it."""

    path: str
    text: str
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Left:
    """A setting that the format does not carry, and why, in words."""

    id: SettingId
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A set that has met a host.

    settings          in the order of writing, watched companions included
    host, profiles    for the heads of what is made
    place             of the script that a boot calls in numatune's stead
    allow_disruption, allow_unsafe  leaves that are given beforehand
    """

    settings: tuple[Setting, ...]
    host: HostInfo
    profiles: tuple[ProfileInfo, ...]
    place: Place
    allow_disruption: bool = False
    allow_unsafe: frozenset[str] = field(default_factory=frozenset)

    @property
    def wanted(self) -> tuple[Setting, ...]:
        """What is asked for and applies here, without what is only watched."""
        return tuple(one for one in self.settings if one.want is not None and not _is_moot(one))

    @property
    def carried(self) -> tuple[SettingId, ...]:
        """What a program can bring about that writes in order: all but what this host has none of, and checks."""
        return tuple(one.id for one in self.wanted if not isinstance(one.target, (Nothing, *CHECKED)))

    @property
    def left(self) -> tuple[Left, ...]:
        """What no program brings about, and why."""
        return tuple(
            Left(one.id, one.target.reason if isinstance(one.target, Nothing) else "it is looked at and never written")
            for one in self.wanted
            if isinstance(one.target, (Nothing, *CHECKED))
        )


def _is_moot(setting: Setting) -> bool:
    return isinstance(setting.target, Nothing) and setting.target.status == "not-applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What came of it.

    files    the first is the one that matters
    carries  what the host holds once they are in place, and booted where they are for boots
    left     what the format cannot carry
    order    what the files cannot promise of the order of writing, in words
    then     what to do with the files, in words
    """

    files: tuple[File, ...]
    carries: tuple[SettingId, ...]
    left: tuple[Left, ...] = ()
    order: tuple[str, ...] = ()
    then: tuple[str, ...] = ()

    def written(self, path: str) -> Exported:
        """The same, where its one file was written to `path`: what is to be done with it names that."""
        if len(self.files) != 1:
            return self
        return replace(self, then=tuple(one.replace(self.files[0].path, shlex.quote(path)) for one in self.then))

    @property
    def notes(self) -> tuple[str, ...]:
        """All of it that a person should read, a line each."""
        return tuple(remarks(self.left, self.order, self.then))
