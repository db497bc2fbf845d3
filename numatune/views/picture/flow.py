"""Ways to place boxes: one below the other, in rows that fit a width, in a grid."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from numatune.views.picture.boxes import Box, Placed


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Placed boxes and the room that they take."""

    children: tuple[Placed, ...] = ()
    width: int = 0
    height: int = 0

    def moved(self, x: int, y: int) -> tuple[Placed, ...]:
        """The boxes further right and down."""
        return tuple(Placed(child.x + x, child.y + y, child.box) for child in self.children)


def rows(boxes: Sequence[Box], width: int, gap: int, *, even: str = "") -> Block:
    """Boxes from left to right, in as many rows as `width` asks for. `even`: a kind made as high as its row."""
    lines: list[list[Box]] = []
    used = 0
    for box in boxes:
        if not lines or used + gap + box.width > width:
            lines.append([])
            used = -gap
        lines[-1].append(box)
        used += gap + box.width
    return stack([_row(line, gap, even=even) for line in lines], gap)


def grid(boxes: Sequence[Box], columns: int, gap: int) -> Block:
    """Boxes of one width, `columns` a row."""
    lines = [boxes[start : start + columns] for start in range(0, len(boxes), columns)]
    return stack([_row(line, gap) for line in lines], gap)


def stack(blocks: Sequence[Block], gap: int) -> Block:
    """Blocks one below the other; those without height take no room."""
    placed: list[Placed] = []
    below = 0
    for block in blocks:
        if block.height:
            y = below + gap if placed else 0
            placed += block.moved(0, y)
            below = y + block.height
    return Block(tuple(placed), max((block.width for block in blocks), default=0), below)


def _row(boxes: Sequence[Box], gap: int, *, even: str = "") -> Block:
    height = max(box.height for box in boxes)
    placed = []
    x = 0
    for box in boxes:
        placed.append(Placed(x, 0, _taller(box, height) if box.kind.partition(" ")[0] == even else box))
        x += box.width + gap
    return Block(tuple(placed), x - gap, height)


def _taller(box: Box, height: int) -> Box:
    """A box that is that high, and with it what reaches down to its end."""
    more = height - box.height
    lowest = max((child.below for child in box.children if child.box.stretches), default=0)
    children = tuple(
        Placed(child.x, child.y, _taller(child.box, child.box.height + more))
        if child.box.stretches and child.below == lowest
        else child
        for child in box.children
    )
    return dataclasses.replace(box, height=height, children=children)
