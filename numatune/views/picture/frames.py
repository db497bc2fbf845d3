"""Boxes that have a heading, and something below it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from numatune.views.picture.boxes import Box, Label
from numatune.views.picture.flow import Block
from numatune.views.picture.measure import text_width

Line = tuple[str, str, int]
"""Text, its classes, the size of its letters."""

LEADING = 4
"""Pixels between the letters of two lines."""


def framed(box: Box, lines: Sequence[Line], body: Block, *, pad: int) -> Box:
    """`box` with lines of text above its body, as wide as both need and at least as it was."""
    labels = []
    y = pad
    for text, classes, size in lines:
        y += size
        labels.append(Label(x=pad, y=y - size // 6, text=text, kind=classes, size=size))
        y += LEADING
    top = y + pad // 2 if lines and body.height else y - (LEADING if lines else 0)
    inner = max(body.width, *(text_width(text, size) for text, _, size in lines), 0)
    return dataclasses.replace(
        box,
        width=max(inner + 2 * pad, box.width),
        height=top + body.height + pad,
        labels=tuple(labels),
        children=body.moved(pad, top),
    )
