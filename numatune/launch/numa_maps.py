"""/proc/PID/numa_maps as data (Documentation/filesystems/proc.rst). Pure.

The policy of a mapping is its own, else its thread's, and its label may have blanks: ``prefer (many):0-1``.
Pages are in units of kernelpagesize_kB, which is that of the mapping. Pages that others map too count in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from numatune.cpus import CpuSet

_LINE = re.compile(
    r"(?P<start>[0-9a-f]+) (?P<mode>default|local|prefer \(many\)|prefer|bind|weighted interleave|interleave)"
    r"(?P<flags>=[a-z|]+)?(?::(?P<nodes>[0-9,-]*))?"
    r"(?: (?P<rest>(?:heap|stack|huge|[a-z]+=|N[0-9]+=|kernelpagesize_kB=).*))?\Z",
    re.ASCII,
)
_PAGES = re.compile(r"(?:^| )N(\d+)=(\d+)", re.ASCII)
_SIZE = re.compile(r"(?:^| )kernelpagesize_kB=(\d+)", re.ASCII)
_ANON = re.compile(r"(?:^| )anon=(\d+)", re.ASCII)
_FILE = re.compile(r"(?:^| )file=(\S+)", re.ASCII)

MODES = {
    "default": "default",
    "local": "local",
    "prefer": "preferred",
    "prefer (many)": "preferred-many",
    "bind": "bind",
    "interleave": "interleave",
    "weighted interleave": "weighted-interleave",
}
"""The kernel's label -> our word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """One mapping. `kib`: memory of it by node. `own`: all of it was allocated for this process.

    A private mapping of a file has pages of both kinds once some were written to, and nobody tells which lie where: it
    is not own unless all were.
    """

    start: int
    mode: str
    nodes: CpuSet
    kib: Mapping[int, int] = field(default_factory=dict)
    own: bool = False
    file: str = ""


def parse(text: str) -> Iterator[Mapped]:
    """Each line that is one; a kernel's new word is left out rather than misread."""
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        rest = found["rest"] or ""
        size, named, anonymous = _SIZE.search(rest), _FILE.search(rest), _ANON.search(rest)
        unit = int(size[1]) if size else 4
        pages = {int(node): int(count) for node, count in _PAGES.findall(rest)}
        yield Mapped(
            start=int(found["start"], 16),
            mode=MODES[found["mode"]],
            nodes=CpuSet.parse(found["nodes"] or ""),
            kib={node: count * unit for node, count in pages.items()},
            own=anonymous is not None and (named is None or int(anonymous[1]) >= sum(pages.values())),
            file=named[1] if named else "",
        )
