"""CpuSet: the one place that knows how sets of CPUs and nodes are spelled.

Spellings (Linux lib/bitmap-str.c and lib/bitmap.c):

    list   ``0-3,8``      ranges, ascending; ``0-7:1/2`` takes 1 of each 2; empty is ""
    mask   ``ff,ffffffff`` hexadecimal in comma groups of 32 bits, most significant group first

A set is one Python integer inside, so 4,096 CPUs cost no more than four.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from numatune.compat import override

LIMIT = 1 << 16
"""No Linux system numbers its CPUs or nodes higher; keeps a typing error from asking for gigabytes."""

_GROUP_BITS = 32
_PART = re.compile(r"(\d+)(?:-(\d+)(?::(\d+)/(\d+))?)?\Z", re.ASCII)
_MASK_GROUP = re.compile(r"[0-9a-fA-F]{1,8}\Z", re.ASCII)


class CpuSet(AbstractSet[int]):
    """An immutable, ordered set of CPU or node numbers. Prints as a list: ``0-3,8``.

    Compares and combines (``&``, ``|``, ``-``, ``^``, ``<=``) like a frozenset.
    """

    __slots__ = ("bits",)
    bits: int

    def __init__(self, members: Iterable[int] = ()) -> None:
        if type(members) is CpuSet:  # by far the cheapest question, and this is asked for every operand
            bits = members.bits
        else:
            bits = 0
            for member in members:
                if not 0 <= member < LIMIT:
                    raise ValueError(f"{member} is no CPU or node number; accepted: 0 to {LIMIT - 1}")
                bits |= 1 << member
        object.__setattr__(self, "bits", bits)

    @override
    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"CpuSet is immutable: {name} = {value!r}")

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).parse, (str(self),))

    @classmethod
    def from_bits(cls, bits: int) -> CpuSet:
        """The set whose member N is bit N of `bits`. Raises ValueError when it is negative: that has no highest bit."""
        if bits < 0:
            raise ValueError(f"{bits} is no set of bits; accepted: 0 and more")
        made = cls.__new__(cls)
        object.__setattr__(made, "bits", bits)
        return made

    @classmethod
    def parse(cls, text: str) -> CpuSet:
        """Read a list: ``0-3,8``, ``0-7:1/2``, blanks around parts allowed, "" is the empty set.

        Raises ValueError that says what is wrong: a reversed range, garbage, a number beyond LIMIT. Never guesses.
        """
        return cls.from_bits(_list_bits(text))

    @classmethod
    def parse_mask(cls, text: str) -> CpuSet:
        """Read a mask: hexadecimal comma groups of 32 bits, no ``0x`` (the kernel refuses that too)."""
        groups = text.strip().split(",")
        bits = 0
        for group in groups:
            if not _MASK_GROUP.match(group):
                raise ValueError(f"{text.strip()!r} is no CPU mask; accepted: hexadecimal groups like ff,ffffffff")
            bits = bits << _GROUP_BITS | int(group, 16)
        return cls.from_bits(bits)

    def mask(self, width: int = _GROUP_BITS) -> str:
        """Spell as a mask for a machine of `width` possible CPUs, padded as the kernel pads it.

        The kernel refuses a group beyond its width even when it is zero (EOVERFLOW), so none is written.
        Raises ValueError when a member does not fit.
        """
        if self.bits >> width:
            raise ValueError(f"CPU {self.last} does not fit a mask of {width} CPUs")
        groups = []
        for low in range(0, width, _GROUP_BITS):
            digits = (min(_GROUP_BITS, width - low) + 3) // 4
            groups.append(f"{self.bits >> low & 0xFFFFFFFF:0{digits}x}")
        return ",".join(reversed(groups))

    @property
    def first(self) -> int:
        """The lowest member. Raises ValueError when empty."""
        if not self.bits:
            raise ValueError("an empty set has no first member")
        return (self.bits & -self.bits).bit_length() - 1

    @property
    def last(self) -> int:
        """The highest member. Raises ValueError when empty."""
        if not self.bits:
            raise ValueError("an empty set has no last member")
        return self.bits.bit_length() - 1

    def take(self, count: int) -> CpuSet:
        """The `count` lowest members, or all when there are fewer."""
        taken = 0
        rest = self.bits
        for _ in range(min(count, rest.bit_count())):
            lowest = rest & -rest
            taken |= lowest
            rest ^= lowest
        return CpuSet.from_bits(taken)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Ascending (first, last) pairs, both inclusive."""
        rest, base = self.bits, 0
        while rest:
            skip = (rest & -rest).bit_length() - 1
            rest >>= skip
            run = (~rest & (rest + 1)).bit_length() - 1
            yield base + skip, base + skip + run - 1
            rest >>= run
            base += skip + run

    @override
    def __contains__(self, member: object) -> bool:
        return isinstance(member, int) and 0 <= member < LIMIT and bool(self.bits >> member & 1)

    @override
    def __iter__(self) -> Iterator[int]:
        for low, high in self.ranges():
            yield from range(low, high + 1)

    @override
    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    @override
    def __hash__(self) -> int:
        return self._hash()

    @override
    def __eq__(self, other: object) -> bool:
        return self.bits == other.bits if isinstance(other, CpuSet) else super().__eq__(other)

    @override
    def __le__(self, other: AbstractSet[Any]) -> bool:
        return not self.bits & ~other.bits if isinstance(other, CpuSet) else super().__le__(other)

    @override
    def __and__(self, other: AbstractSet[Any]) -> CpuSet:
        return CpuSet.from_bits(self.bits & CpuSet(other).bits)

    @override
    def __or__(self, other: AbstractSet[Any]) -> CpuSet:
        return CpuSet.from_bits(self.bits | CpuSet(other).bits)

    @override
    def __sub__(self, other: AbstractSet[Any]) -> CpuSet:
        return CpuSet.from_bits(self.bits & ~CpuSet(other).bits)

    @override
    def __xor__(self, other: AbstractSet[Any]) -> CpuSet:
        return CpuSet.from_bits(self.bits ^ CpuSet(other).bits)

    @override
    def __str__(self) -> str:
        return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in self.ranges())

    @override
    def __repr__(self) -> str:
        return f"CpuSet({str(self)!r})"


@functools.lru_cache(maxsize=4096)
def _list_bits(text: str) -> int:
    """Bits of a list. Thousands of interrupts have a few lists between them. Raises ValueError."""
    bits = 0
    stripped = text.strip()
    for part in stripped.split(",") if stripped else ():
        bits |= _part_bits(part.strip())
    return bits


def _part_bits(part: str) -> int:
    """Bits of one part of a list: ``5``, ``0-3`` or ``0-1023:2/256``."""
    match = _PART.match(part)
    if not match:
        raise ValueError(f"{part!r} is no part of a set; accepted: parts like 5, 0-3 or 0-7:1/2, between commas")
    low, high = int(match[1]), int(match[2] or match[1])
    if high < low:
        raise ValueError(f"the range {part!r} is reversed; accepted: {high}-{low}")
    if high >= LIMIT:
        raise ValueError(f"{high} is no CPU or node number; accepted: 0 to {LIMIT - 1}")
    if match[3] is None:
        return (1 << high + 1) - (1 << low)
    used, group = int(match[3]), int(match[4])
    if not 0 < used <= group:
        raise ValueError(f"the stride of {part!r} takes {used} of each {group}; accepted: 1 to {group}")
    width = high + 1 - low
    bits, done = (1 << min(used, width)) - 1, group
    while done < width:
        bits |= bits << done
        done *= 2
    return (bits & (1 << width) - 1) << low
