"""The whole picture: what host it is, its packages side by side, what is apart, distances, what the colours mean."""

from __future__ import annotations

from numatune.topology.model import Topology
from numatune.views.pci import shown
from numatune.views.picture.boxes import Box, Placed
from numatune.views.picture.facts import Facts, facts
from numatune.views.picture.flow import Block, rows, stack
from numatune.views.picture.frames import Line, framed
from numatune.views.picture.heat import heat
from numatune.views.picture.legend import legend
from numatune.views.picture.measure import fitting, folded
from numatune.views.picture.nodes import PAD
from numatune.views.picture.parts import apart, packages
from numatune.views.summary import headline, marked, system, threads

_WIDTHS = (1240, 1560, 1880)
"""Of what is on a page. A wider one is taken where a narrower one would be long."""
_LONG = 1.1
"""Height of a page to its width."""
_MOST_COLUMNS = 8
_GAP, _PAD = 12, 20
_NARROWEST = 460


def page(found: Topology, *, everything: bool = False) -> Box:
    """The page on which everything of a host is placed. `everything`: all PCI devices."""
    known = facts(found, shown(found, everything=everything))
    matrix = heat(found.nodes)
    for width in _WIDTHS[:-1]:
        made = _shortest(known, matrix, width)
        if made.height <= _LONG * made.width:
            return made
    return _shortest(known, matrix, _WIDTHS[-1])


def _shortest(known: Facts, matrix: Box | None, width: int) -> Box:
    """Of all pages that are no wider, if there is one."""
    pages = [_page(known, matrix, width, columns) for columns in range(1, _MOST_COLUMNS + 1)]
    return min(pages, key=lambda made: (made.width > width + 2 * _PAD, made.height))


def _page(known: Facts, matrix: Box | None, width: int, columns: int) -> Box:
    """With nodes as wide as `columns` of them allow beside each other."""
    room = (width - (columns - 1) * _GAP) // columns - 4 * PAD
    boxes = [*packages(known, width, room), *([matrix] if matrix else []), *apart(known, width, room)]
    body = rows(boxes, width, _GAP, even="package")
    key = legend(known, max(body.width, _NARROWEST))
    body = stack([body, Block((Placed(0, 0, key),), key.width, key.height)], _GAP)
    lines: list[Line] = [(headline(known.found), "headline", 16)]
    for text in _told(known.found):
        lines += [(line, "faint", 11) for line in folded(text, fitting(max(body.width, _NARROWEST), 11))]
    return framed(Box(kind="page"), lines, body, pad=_PAD)


def _told(found: Topology) -> list[str]:
    """What is written below the headline."""
    about = [*system(found), threads(found)]
    return [" · ".join(word for word in about if word), *(f"{name}: {some}" for name, some in marked(found))]
