"""What is measured and never written: how many, how much, how fast, which version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from numatune.compat import override
from numatune.settings.codecs.base import Bounded

_COUNTED = re.compile(r"(0|[1-9][0-9]{0,18})(?: \((.*)\))?\Z", re.ASCII)
_SPEED = re.compile(r"([1-9][0-9]{0,3})(?:\.([0-9]))?(?: GT/s(?: PCIe)?)?\Z", re.ASCII)
_NUMBERS = re.compile(r"[0-9]{1,18}", re.ASCII)
_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True, slots=True)
class Tally(Bounded):
    """``8 (0-7)``: a number, and in brackets what was counted, which explains and is not compared."""

    unit: Literal["", "bytes", "%", "threads"] = ""

    @override
    def measure(self, text: str) -> tuple[int, ...]:
        return (int(_counted(text)[1]),)

    @override
    def same(self, a: str, b: str) -> bool:
        return self.measure(a) == self.measure(b)

    @override
    def show(self, text: str) -> str:
        found = _counted(text)
        told = f" ({found[2]})" if found[2] else ""
        if self.unit == "bytes":
            return f"{size(int(found[1]))}{told}"
        if self.unit == "threads":
            return f"{found[1]} {'thread' if found[1] == '1' else 'threads'}{told}"
        return f"{found[1]}{self.unit}{told}"


@dataclass(frozen=True, slots=True)
class Speed(Bounded):
    """A PCIe link's ``16.0 GT/s PCIe``; older kernels say ``16 GT/s``, a link that is down ``Unknown``."""

    @override
    def measure(self, text: str) -> tuple[int, ...]:
        found = _SPEED.match(text.strip())
        if not found:
            raise ValueError(f"{text.strip()!r} is no speed; accepted: GT/s, like 16 or 2.5")
        return int(found[1]), int(found[2] or 0)

    @override
    def show(self, text: str) -> str:
        whole, tenth = self.measure(text)
        return f"{whole}.{tenth} GT/s" if tenth else f"{whole} GT/s"


@dataclass(frozen=True, slots=True)
class Version(Bounded):
    """``550.54.14``, ``24.10-0.7.0``: numbers, whatever is between them. 550.54 asks for any 550.54.x."""

    @override
    def measure(self, text: str) -> tuple[int, ...]:
        numbers = tuple(map(int, _NUMBERS.findall(text)))
        if not numbers:
            raise ValueError(f"{text.strip()!r} is no version; accepted: numbers, like 550.54.14")
        return numbers

    @override
    def same(self, a: str, b: str) -> bool:
        return self.measure(a) == self.measure(b)

    @override
    def holds(self, want: str, have: str) -> bool:
        """Only as many numbers count as are wanted."""
        wanted = self.measure(want)
        pairs = zip_longest(self.measure(have)[: len(wanted)], wanted, fillvalue=0)
        return self.within(wanted, tuple(number for number, _ in pairs))


def size(count: int) -> str:
    """Bytes for people: ``503.5 GiB``, ``16 GiB``."""
    for unit, factor in _UNITS:
        if count >= factor:
            return f"{count / factor:.1f} {unit}".replace(".0 ", " ")
    return f"{count} bytes"


def _counted(text: str) -> re.Match[str]:
    found = _COUNTED.match(text.strip())
    if not found:
        raise ValueError(f"{text.strip()!r} is no number of things")
    return found
