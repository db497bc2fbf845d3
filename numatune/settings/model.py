"""What a Setting is: one thing that a profile wants of a host, as frozen data. Knows no host, no knob, no pydantic."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal, NewType

from numatune.compat import override
from numatune.settings.codecs import AnyCodec
from numatune.settings.targets import Target
from numatune.settings.words import Word

SettingId = NewType("SettingId", str)
"""Stable over runs, hosts and kernels: ``sysctl:vm.swappiness``, ``irq:0000:41:00.0/1``."""


class Phase(enum.IntEnum):
    """Order of writing, the SAME forwards and in rollback: THP rewrites min_free_kbytes on both ways."""

    EXPECT = -10  # what is expected of the host, and never written
    QUIET = 0  # units that stop
    FILES = 5
    SYSCTL = 10
    BALANCING = 20
    THP = 30
    RECLAIM = 40  # min_free_kbytes, watermarks
    COMPACTION = 50
    HUGEPAGES = 60
    TIERS = 70
    CGROUP = 80
    IRQ = 90
    CPUFREQ = 100
    RESUME = 110  # units that start again
    CHECK = 120  # facts: nothing is written


class Impact(Word):
    """What a change does to work that runs now."""

    LIVE = "live", "in force at once, and nothing that runs is disturbed"
    NEW_PROCESSES = "new-processes", "counts for what starts from now on; what runs keeps the old state"
    DISRUPTS = "disrupts", "stalls, cuts or may kill running work: only done with --allow-disruption"


@dataclass(frozen=True, slots=True)
class Source:
    """The line of a profile that asked; `file` as the user named it."""

    file: str
    line: int

    @override
    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not to be written, worked out from profile and topology alone. `figure` says why, with numbers."""

    figure: str


@dataclass(frozen=True, slots=True)
class FitsFree:
    """What the value grows by, times `unit` bytes, must be free in the `meminfo` file's MemFree.

    `pool`: a folder with nr_hugepages and free_hugepages; the value must not shrink below the pages in use, their
    difference: the kernel would take the write and keep those pages as surplus.
    """

    meminfo: str
    unit: int
    pool: str = ""


@dataclass(frozen=True, slots=True)
class NotBelow:
    """The value, in bytes, must not be below the number in file `used` (memory.max below what is used kills)."""

    used: str


@dataclass(frozen=True, slots=True)
class Unpopulated:
    """The cgroup `folder` must hold no process itself, unless it is the root of the tree (it has no cgroup.type).

    +cpuset in a cgroup that has processes succeeds, but makes it a threaded domain whose children take no process any
    more (ENOTSUP); +memory there is EBUSY (no internal processes: Linux Documentation/admin-guide/cgroup-v2.rst).
    """

    folder: str


@dataclass(frozen=True, slots=True)
class Zero:
    """The number in `file` must be 0: the kernel takes the write only then. `why` follows the number, in words."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class RoomFor:
    """The number in `file`, times `unit` bytes, must be free in the `meminfo` file's MemFree: the write needs that."""

    file: str
    unit: int
    meminfo: str


Guard = Refuse | FitsFree | NotBelow | Unpopulated | Zero | RoomFor


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One wanted value. Two settings of one profile on one target are a profile error that names both lines.

    want     canonical text, only codecs look inside; None: watched, never asked for (a companion)
    optional True: never counted; False, written out: `unchangeable` counts too; None: as the status says
    family   views fold the rows of one family into one line
    impact   of changing it; `impact_in_use` when running work stands on it (a populated cgroup)
    impact_allowed  when disruption is allowed, because its write then does more to get there (compaction for hugepages)
    needs    the setting that creates this one's target
    after    settings that must be written before
    inside   stays within that one (a child cpuset): growing goes outside in, shrinking inside out
    companions what the kernel rewrites when this is written: saved and given back with it
    undo     how well the original comes back; "nearest" and "never" are announced in the plan
    note     a side effect that the plan announces
    guard    a limit beyond which it is not written without --allow-unsafe ID
    """

    id: SettingId
    target: Target
    codec: AnyCodec
    want: str | None
    phase: Phase
    section: str
    source: Source | None = None
    why: str = ""
    optional: bool | None = None
    family: str = ""
    impact: Impact = Impact.LIVE
    impact_in_use: Impact | None = None
    impact_allowed: Impact | None = None
    needs: SettingId | None = None
    after: tuple[SettingId, ...] = ()
    inside: SettingId | None = None
    companions: tuple[Setting, ...] = ()
    undo: Literal["exact", "nearest", "never"] = "exact"
    note: str = ""
    guard: Guard | None = None
    home: Literal["none", "sysctl.d", "tmpfiles.d", "boot"] = "boot"
