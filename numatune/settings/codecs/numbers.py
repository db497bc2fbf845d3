"""Numbers: exact, bounded from one side, counted, paired, and the kernel's ways to say yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numatune.compat import override
from numatune.settings.codecs.base import Codec

_YES = frozenset({"1", "y", "t", "on"})
_NO = frozenset({"0", "n", "f", "of"})
"""kstrtobool (Linux lib/kstrtox.c) looks at the first letter, after an o at the second too."""


@dataclass(frozen=True, slots=True)
class Int(Codec):
    """A decimal integer. With `op` >= or <= any host value on that side is as wanted and stays."""

    op: Literal["=", ">=", "<="] = "="

    @override
    def show(self, text: str) -> str:
        return str(int(text))

    @override
    def holds(self, want: str, have: str) -> bool:
        wanted, held = int(want), int(have)
        match self.op:
            case "=":
                return held == wanted
            case ">=":
                return held >= wanted
            case "<=":
                return held <= wanted

    @override
    def grows(self, have: str, want: str) -> bool | None:
        return None if int(have) == int(want) else int(want) > int(have)


@dataclass(frozen=True, slots=True)
class Count(Int):
    """A pool that the kernel fills as far as it can (hugepages): a write may stop anywhere on the way."""

    @override
    def between(self, before: str, want: str, now: str) -> bool:
        return min(int(before), int(want)) <= int(now) <= max(int(before), int(want))


@dataclass(frozen=True, slots=True)
class Paired(Int):
    """One of two files of which each write zeroes the other (dirty_bytes, dirty_ratio).

    Writing 0 is refused or means nothing, so 0 is reached by the partner's write.
    """

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return () if int(want) == 0 else (str(int(want)),)


@dataclass(frozen=True, slots=True)
class Bool(Codec):
    """kstrtobool: reads true or false, Y or N, 1 or 0; written as 1 or 0, which every kernel takes."""

    @override
    def show(self, text: str) -> str:
        word = text.strip().lower()
        first = word[:2] if word.startswith("o") else word[:1]
        if first in _YES:
            return "true"
        if first in _NO:
            return "false"
        raise ValueError(f"{text.strip()!r} is neither yes nor no")

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        return ("1" if self.show(want) == "true" else "0",)
