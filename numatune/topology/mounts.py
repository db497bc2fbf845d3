"""What is mounted where, as far as memory is concerned, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A mount. `policy`: of a tmpfs, "" for none: ``interleave:0-1``; `size`: in bytes, None where nothing tells."""

    point: str
    kind: str
    policy: str = ""
    size: int | None = None
