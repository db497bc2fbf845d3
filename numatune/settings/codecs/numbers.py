"""Numbers: exact, bounded from one side, counted, paired, and the kernel's ways to say yes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from numatune.compat import override
from numatune.settings.codecs.base import Bounded, Codec

_DECIMAL = re.compile(r"\s*-?(?:0|[1-9][0-9]*)\s*\Z", re.ASCII)
_YES = frozenset({"1", "y", "yes", "t", "true", "on"})
_NO = frozenset({"0", "n", "no", "f", "false", "off"})
"""What kstrtobool (Linux lib/kstrtox.c) takes and kernels print, not everything that begins like it."""


def number(text: str) -> int:
    """A decimal integer, as every kernel prints it. Raises ValueError: 010 is 8 to a kernel, 1_0 and 0x10 nothing."""
    if not _DECIMAL.match(text):
        raise ValueError(f"{text.strip()!r} is no decimal number")
    return int(text)


@dataclass(frozen=True, slots=True)
class Int(Bounded):
    """A decimal integer. With `op` >= or <= any host value on that side is as wanted and stays."""

    @override
    def measure(self, text: str) -> tuple[int, ...]:
        return (number(text),)

    @override
    def show(self, text: str) -> str:
        return str(number(text))

    @override
    def grows(self, have: str, want: str) -> bool | None:
        return None if number(have) == number(want) else number(want) > number(have)


@dataclass(frozen=True, slots=True)
class Count(Int):
    """A pool that the kernel fills as far as it can (hugepages): a write may stop anywhere on the way."""

    @override
    def between(self, before: str, want: str, now: str) -> bool:
        return min(number(before), number(want)) <= number(now) <= max(number(before), number(want))


@dataclass(frozen=True, slots=True)
class Paired(Int):
    """One of two files of which each write zeroes the other (dirty_bytes, dirty_ratio).

    Writing 0 is refused or means nothing, so 0 is reached by the partner's write.
    """

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return () if number(want) == 0 else (str(number(want)),)


@dataclass(frozen=True, slots=True)
class Bool(Codec):
    """kstrtobool: reads true or false, Y or N, 1 or 0; written as 1 or 0, which every kernel takes."""

    @override
    def show(self, text: str) -> str:
        word = text.strip().lower()
        if word in _YES:
            return "true"
        if word in _NO:
            return "false"
        raise ValueError(f"{text.strip()!r} is neither yes nor no")

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return ("1" if self.show(want) == "true" else "0",)
