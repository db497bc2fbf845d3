"""How sizes of pages are spelled, 2M, 2MB and 2048kB are one; and what is said of pools that give pages back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from numatune.topology.model import Node

_SIZE: Final = re.compile(r"([1-9][0-9]{0,9}) ?([kmg])(?:i?b)?\Z", re.ASCII | re.IGNORECASE)
_KB: Final = {"k": 1, "m": 1 << 10, "g": 1 << 20}

GIVEN_BACK: Final = "a rollback gets fewer pages again where free memory is in smaller pieces by then"
"""What a plan announces of a pool that gives hugepages back."""


def kb_of(size: str) -> int:
    """Kilobytes of a page size as a profile spells it: 2M, 2048kB, 1G. Raises ValueError."""
    match = _SIZE.match(size)
    if not match:
        raise ValueError(f"{size!r} is no page size; accepted: a number with kB, M or G, like 64kB, 2M or 1G")
    kb = int(match[1]) * _KB[match[2].lower()]
    if kb & kb - 1:
        raise ValueError(f"{size!r} is no page size; accepted: powers of two, like 64kB, 2M or 1G")
    return kb


def spelled(kb: int) -> str:
    """The shortest spelling: 2M of 2048."""
    for unit in "GM":
        if kb % _KB[unit.lower()] == 0:
            return f"{kb // _KB[unit.lower()]}{unit}"
    return f"{kb}kB"


def gives_back(wanted: int, kb: int, nodes: Iterable[Node]) -> bool:
    """Whether `nodes` keep more pages of `kb` than are wanted of them together; surplus pages are not kept."""
    pools = [node.hugepages[kb] for node in nodes if kb in node.hugepages]
    return wanted < sum(pool.total - (pool.surplus or 0) for pool in pools)


def size_key(size: str) -> str:
    """One spelling for each size, so that 2M and 2048kB meet when profiles merge. Raises ValueError."""
    return spelled(kb_of(size))
