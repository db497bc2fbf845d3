"""Boxes within boxes: the layout of a picture as data, in whole pixels. A box does not know where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from numatune.views.picture.measure import text_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A line of text in a box. `x`, `y`: where it begins and its base line; `kind`: its classes."""

    x: int
    y: int
    text: str
    kind: str = ""
    size: int = 11

    @property
    def width(self) -> int:
        """At most that much."""
        return text_width(self.text, self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle.

    kind   its classes, the first one says what it shows: page, package, node, cluster, core, cpu, memory, device ...
    key    which one of that kind: ``12`` of a CPU or a node, an address of a device; ids of nodes alike as ``3-9``
    tip    what is told to whoever points at it, in lines
    """

    kind: str
    width: int = 0
    height: int = 0
    key: str = ""
    tip: str = ""
    labels: tuple[Label, ...] = ()
    children: tuple[Placed, ...] = ()
    drawn: bool = True  # False: it only holds others together

    @property
    def stretches(self) -> bool:
        """Whether it may be made higher than what is in it."""
        return self.kind.startswith("node ")


@dataclass(frozen=True, slots=True)
class Placed:
    """A box and where its upper left corner is in the box around it."""

    x: int
    y: int
    box: Box

    @property
    def right(self) -> int:
        """The first column of pixels that is not its own."""
        return self.x + self.box.width

    @property
    def below(self) -> int:
        """The first row of pixels that is not its own."""
        return self.y + self.box.height


def walk(box: Box, x: int = 0, y: int = 0) -> Iterator[Placed]:
    """A box and all that are in it, each where it is on the page."""
    yield Placed(x, y, box)
    for child in box.children:
        yield from walk(child.box, x + child.x, y + child.y)
