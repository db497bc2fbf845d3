"""Colour, symbols and wrapping for a terminal of a given width. Plain text when there is no colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Paint = Literal["bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]
Segment = tuple[str, tuple[Paint, ...]]
"""A piece of text and how it is painted."""

_SGR: dict[Paint, int] = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
}

_ASCII = str.maketrans(
    {
        "→": "->",
        "✓": "=",
        "✗": "x",
        "↩": "<",
        "↻": "@",
        "≈": "%",
        "…": "...",
        "·": "-",
        "○": "o",
        "—": "-",
        "≥": ">=",
        "≤": "<=",
    }
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a terminal takes text. `width`: columns. `unicode` False: symbols are spelled in ASCII."""

    colour: bool = False
    unicode: bool = True
    width: int = 80

    @property
    def separator(self) -> str:
        """Between the parts of a summary line."""
        return " · " if self.unicode else ", "

    def paint(self, text: str, *paints: Paint) -> str:
        """`text` in colour, or as it is."""
        if not (self.colour and paints and text):
            return text
        return f"\033[{';'.join(str(_SGR[paint]) for paint in paints)}m{text}\033[0m"

    def spell(self, text: str) -> str:
        """`text` in the characters that this terminal has; what comes from a host or a profile moves no cursor."""
        clean = text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
        return clean if self.unicode else clean.translate(_ASCII)

    def segments(self, segments: Iterable[Segment]) -> str:
        """Pieces in their colours, one after the other."""
        return "".join(self.paint(text, *paints) for text, paints in segments)

    def wrap(self, text: str, indent: int = 0) -> list[str]:
        """Pieces of `text` that fit the width behind `indent` blanks; words stay whole. The blanks are not added."""
        room = max(self.width - indent, 20)
        return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)


PLAIN = Style()


def plural(count: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
