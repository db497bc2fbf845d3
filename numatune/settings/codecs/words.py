"""Words: a bracketed choice, tuples with tabs or blanks, memberships, a kernel command line, a whole file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from numatune.compat import override
from numatune.settings.codecs.base import Codec

_CHOSEN = re.compile(r"\[([^\]]*)\]")
_STARTS_AT_BOOT = frozenset({"enabled", "enabled-runtime"})
_PARAMETER = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


@dataclass(frozen=True, slots=True)
class Choice(Codec):
    """``always [madvise] never``: read with brackets, written as the bare word."""

    @override
    def show(self, text: str) -> str:
        chosen = _CHOSEN.search(text)
        return chosen[1] if chosen else text.strip()

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return (self.show(want),)

    @override
    def between(self, before: str, want: str, now: str) -> bool:
        """cpuset.cpus.partition takes ``root`` and then reads ``root invalid (why)`` where it cannot be one."""
        return self.show(now).startswith(f"{self.show(want)} invalid")


@dataclass(frozen=True, slots=True)
class Words(Codec):
    """A fixed row of words or integers between tabs or blanks: kernel.sem, net.ipv4.ip_local_port_range."""

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return (self.show(want) or "\n",)


@dataclass(frozen=True, slots=True)
class Members(Codec):
    """cgroup.subtree_control: the wanted words must be there, others may; written as a difference ``+cpuset -io``."""

    @override
    def same(self, a: str, b: str) -> bool:
        return set(a.split()) == set(b.split())

    @override
    def holds(self, want: str, have: str) -> bool:
        return set(want.split()) <= set(have.split())

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        missing = set(want.split()) - set((have or "").split())
        return (" ".join(f"+{word}" for word in sorted(missing)),) if missing else ()

    @override
    def back(self, original: str, have: str) -> tuple[str, ...]:
        before, now = set(original.split()), set(have.split())
        parts = [*(f"+{word}" for word in sorted(before - now)), *(f"-{word}" for word in sorted(now - before))]
        return (" ".join(parts),) if parts else ()


@dataclass(frozen=True, slots=True)
class Cmdline(Codec):
    """/proc/cmdline: one parameter (``iommu=pt``, or a bare ``nosmt``) that must, or must not, be there.

    A comma list counts member by member (``isolcpus=managed_irq,2-3`` has ``isolcpus=managed_irq``).
    """

    present: bool = True

    @override
    def holds(self, want: str, have: str) -> bool:
        return any(_says(parameter, want.strip()) for parameter in _parameters(have)) is self.present

    def about(self, want: str, have: str) -> str:
        """Of a whole command line the parameters of the wanted one's name: the others may hold secrets."""
        name = _name(want.strip())
        return " ".join(parameter for parameter in _parameters(have) if _name(parameter) == name)


@dataclass(frozen=True, slots=True)
class AtBoot(Codec):
    """A unit's UnitFileState. Wanted "disabled" also holds for what no boot starts by itself: static, indirect, masked.

    Wanted "masked" holds for masked-runtime too, and nothing but a mask.
    """

    @override
    def holds(self, want: str, have: str) -> bool:
        wanted, held = want.strip(), have.strip()
        if wanted == "disabled":
            return held not in _STARTS_AT_BOOT
        return held == wanted or (wanted == "masked" and held == "masked-runtime")

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        """What is enabled until the next boot only is disabled there: plain ``disable`` leaves it enabled."""
        if want.strip() == "disabled" and have is not None and have.strip() == "enabled-runtime":
            return ("disabled-runtime",)
        return (want.strip(),)

    @override
    def back(self, original: str, have: str) -> tuple[str, ...]:
        """A unit that had no file is disabled before its file goes."""
        return self.spell(original.strip() or "disabled", have)


@dataclass(frozen=True, slots=True)
class Text(Codec):
    """A whole file of ours: every byte counts."""

    @override
    def show(self, text: str) -> str:
        return text

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return (want,)


def _parameters(text: str) -> Iterator[str]:
    """The parameters of a command line: blanks between quotes part none, what follows -- is for init."""
    for match in _PARAMETER.finditer(text):
        if match[0] == "--":
            return
        yield match[0].replace('"', "")


def _says(word: str, want: str) -> bool:
    """Whether one word of the command line says what is wanted; - and _ are one in its name."""
    if _name(word) != _name(want):
        return False
    value, wanted = word.partition("=")[2], want.partition("=")[2]
    return not wanted or value == wanted or wanted in value.split(",")


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].replace("-", "_")
