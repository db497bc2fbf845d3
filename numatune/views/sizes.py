"""Amounts of memory as people write them."""

from __future__ import annotations

_GIB, _MIB = 1 << 30, 1 << 20


def memory(size: int | None) -> str:
    """``251.6 GiB``; ``?`` for what is not known."""
    if size is None:
        return "?"
    if size < _GIB:
        return f"{size // _MIB} MiB" if size else "0"
    return f"{size / _GIB:.1f} GiB"


def page(kilobytes: int) -> str:
    """The size of a page: 2048 -> 2M."""
    for shift, unit in ((20, "G"), (10, "M")):
        if kilobytes >> shift and not kilobytes % (1 << shift):
            return f"{kilobytes >> shift}{unit}"
    return f"{kilobytes}k"
