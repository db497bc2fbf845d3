"""Sets of CPUs and nodes in the spellings of kernel files and of systemd."""

from __future__ import annotations

import re
from dataclasses import dataclass

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.settings.codecs.base import Codec

_BETWEEN = re.compile(r"\s*,\s*|\s+", re.ASCII)


@dataclass(frozen=True, slots=True)
class CpuList(Codec):
    """``0-3,8``; an empty set is written as a newline, because an empty write is a no-op."""

    def read(self, text: str) -> CpuSet:
        """The set that `text` spells."""
        return CpuSet.parse(text)

    @override
    def show(self, text: str) -> str:
        return str(self.read(text))

    @override
    def same(self, a: str, b: str) -> bool:
        return self.read(a) == self.read(b)

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return (self.show(want) or "\n",)

    @override
    def grows(self, have: str, want: str) -> bool | None:
        held, wanted = self.read(have), self.read(want)
        return None if held == wanted else wanted > held

    @override
    def between(self, before: str, want: str, now: str) -> bool:
        """Some files (kernel.watchdog_cpumask) keep without a word what of the list the machine has."""
        return self.read(now) <= self.read(want)


@dataclass(frozen=True, slots=True)
class CpuMask(CpuList):
    """``ff,ffffffff`` for `width` possible CPUs; shown to people as a list."""

    width: int = 32

    @override
    def read(self, text: str) -> CpuSet:
        return CpuSet.parse_mask(text)

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return (self.read(want).mask(self.width),)


@dataclass(frozen=True, slots=True)
class GroupSet(CpuList):
    """cpuset.cpus, cpuset.mems of a cgroup v2: empty means all that the parent has, here `everything`.

    A set with tasks inside cannot be emptied again before Linux 7.3 (ENOSPC), so going back to empty widens first.
    """

    everything: str = ""

    @override
    def back(self, original: str, have: str) -> tuple[str, ...]:
        spelled = self.spell(original, have)
        return spelled if self.show(original) else (self.everything, *spelled)

    @override
    def grows(self, have: str, want: str) -> bool | None:
        return CpuList.grows(self, self.show(have) or self.everything, self.show(want) or self.everything)


@dataclass(frozen=True, slots=True)
class UnitSet(GroupSet):
    """AllowedCPUs=, AllowedMemoryNodes= of a unit: lists with blanks or commas, and an empty one is a reset.

    The reset leaves running tasks where they were (systemd issue 43846), so going back to empty widens first here too.

    moves  give the first set twice: a change of cpuset.mems moves the pages of running tasks, but not the one with
           which systemd switches cpuset on, for which the kernel knows no set to move them from (seen on Linux 6.12)
    """

    moves: bool = False

    @override
    def read(self, text: str) -> CpuSet:
        return CpuSet.parse(_BETWEEN.sub(",", text.strip()))

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        spelled = self.show(want)
        switched_on_with_it = spelled and not self.show(have or "")
        if self.moves and switched_on_with_it and not self.same(spelled, self.everything):
            return spelled, self.everything, spelled
        return (spelled,)
