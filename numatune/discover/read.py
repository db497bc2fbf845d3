"""Small texts of /sys and /proc as values. What is not there, or is no such value, is None: never 0, never an error."""

from __future__ import annotations

import re
from collections.abc import Iterable

from numatune.cpus import LIMIT, CpuSet
from numatune.host.protocol import Reader

_INTEGER = re.compile(r"-?\d{1,20}\Z", re.ASCII)
"""As much as 64 bits hold."""


def text(reader: Reader, *paths: str) -> str | None:
    """The first file that can be read, without the blanks around it."""
    for path in paths:
        held = reader.read(path).text
        if held is not None:
            return held.strip()
    return None


def number(reader: Reader, path: str) -> int | None:
    """A decimal integer, as the kernel prints it."""
    return integer(text(reader, path) or "")


def integer(held: str) -> int | None:
    """The same of a text, None when it is no such number."""
    return int(held) if _INTEGER.match(held) else None


def cpu_list(reader: Reader, *paths: str) -> CpuSet | None:
    """The first file that holds a list. An empty ``nohz_full`` reads ``(null)`` before Linux 7."""
    for path in paths:
        held = text(reader, path)
        if held is None:
            continue
        try:
            return CpuSet() if held == "(null)" else CpuSet.parse(held)
        except ValueError:
            continue
    return None


def cpu_mask(reader: Reader, *paths: str) -> CpuSet | None:
    """The first file that holds a mask."""
    for path in paths:
        try:
            return CpuSet.parse_mask(text(reader, path) or "")
        except ValueError:
            continue
    return None


def numbered(names: Iterable[str], prefix: str, suffix: str = "") -> list[int]:
    """The numbers of cpu0, cpu1, cpufreq ... that are numbers, in the order of `names`."""
    middles = (
        name[len(prefix) : len(name) - len(suffix)]
        for name in names
        if name.startswith(prefix) and name.endswith(suffix)
    )
    return [number for number in map(integer, middles) if number is not None and number >= 0]


def members(names: Iterable[str], prefix: str) -> CpuSet:
    """The CPUs or nodes among cpu0, cpu1, cpufreq ..."""
    return CpuSet(number for number in numbered(names, prefix) if number < LIMIT)


def fields(held: str | None) -> dict[str, str]:
    """First value of every ``key : value`` line, as /proc/cpuinfo and /proc/meminfo have them."""
    found: dict[str, str] = {}
    for line in (held or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def kib(held: str | None) -> int | None:
    """``132124 kB`` in bytes."""
    amount = integer((held or "").removesuffix("kB").strip())
    return None if amount is None else amount * 1024
