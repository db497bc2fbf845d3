"""Sizes of memory as cgroup files and systemd spell them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from numatune.compat import override
from numatune.settings.codecs.base import Codec

_SIZE = re.compile(r"(0|[1-9][0-9]*)([KMGTPE]?)\Z", re.ASCII)
_UNLIMITED = frozenset({"max", "infinity"})
_V1_UNLIMITED = 1 << 62
"""memory.limit_in_bytes reads 9223372036854771712 (a page below 2^63) where v2 says ``max``."""


def bytes_of(text: str) -> int | None:
    """Bytes of ``180G``, ``65536`` or ``max`` (None). Raises ValueError, for 64MB, 64Mi and 1.5G as the kernel does."""
    stripped = text.strip()
    if stripped in _UNLIMITED:
        return None
    match = _SIZE.match(stripped)
    if not match:
        raise ValueError(f"{stripped!r} is no size; accepted: max, or an integer with at most one of K M G T P E")
    size = int(match[1]) << 10 * " KMGTPE".index(match[2] or " ")
    return None if size >= _V1_UNLIMITED else size


@dataclass(frozen=True, slots=True)
class Size(Codec):
    """``180G`` or ``max``; read back in bytes, rounded down to `page` bytes. `unlimited`: how no limit is written."""

    page: int = 4096
    unlimited: str = "max"

    def _pages(self, text: str) -> int | None:
        size = bytes_of(text)
        return None if size is None else size // self.page

    @override
    def show(self, text: str) -> str:
        size = bytes_of(text)
        if size is None:
            return "max"
        unit = 0
        while size and size % 1024 == 0 and unit < len("KMGTPE"):
            size //= 1024
            unit += 1
        return f"{size}{' KMGTPE'[unit].strip()}"

    @override
    def same(self, a: str, b: str) -> bool:
        return self._pages(a) == self._pages(b)

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        size = bytes_of(want)
        return (self.unlimited if size is None else str(size),)

    @override
    def grows(self, have: str, want: str) -> bool | None:
        held, wanted = self._pages(have), self._pages(want)
        if held == wanted:
            return None
        return wanted is None or (held is not None and wanted > held)
