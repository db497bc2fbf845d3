"""What an export leaves out, and what to do with it, in lines: for its comments, and for whoever asked for it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.export.tuning.model import Left

_NAMED = 3
_WIDTH = 110


def remarks(left: Sequence[Left], order: Sequence[str] = (), then: Sequence[str] = ()) -> Iterator[str]:
    """What is not carried, by reason; what order is not kept; what to do."""
    by_reason: dict[str, list[str]] = {}
    for one in left:
        by_reason.setdefault(one.why, []).append(one.id)
    for why, ids in by_reason.items():
        yield f"not carried: {_some(ids)}: {why}"
    yield from (f"order: {said}" for said in order)
    yield from (f"then: {said}" for said in then)


def comments(lines: Iterator[str]) -> str:
    """As comments, folded; "" where there are none."""
    folded = (textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)
    return "".join(f"# {piece}\n" for pieces in folded for piece in pieces)


def _some(ids: Sequence[str]) -> str:
    more = len(ids) - _NAMED
    return f"{', '.join(ids[:_NAMED])} and {more} more" if more > 1 else ", ".join(ids)
