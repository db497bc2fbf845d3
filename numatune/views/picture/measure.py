"""How wide text is. The picture's font is a monospaced one, whichever there is; none is wider than this."""

from __future__ import annotations

import re
import unicodedata

_PIECES = re.compile(r"(?<=[ ,])")

_ADVANCE = 62
"""Hundredths of the font's size: 60 in most monospaced fonts, 61.8 in the widest that is common (SF Mono)."""


def text_width(text: str, size: int) -> int:
    """Pixels, rounded up."""
    return -(-columns(text) * size * _ADVANCE // 100)


def columns(text: str) -> int:
    """How many advances a text takes; characters of East Asia take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def fitting(pixels: int, size: int) -> int:
    """How many characters fit, at least one."""
    return max(pixels * 100 // (size * _ADVANCE), 1)


def clean(text: str) -> str:
    """What comes from a host, without characters that XML or a reader of the picture cannot take."""
    return "".join(char if char.isprintable() else "?" for char in text)


def folded(text: str, most: int) -> list[str]:
    """Lines of at most `most` columns, broken after blanks and commas, and where nothing else helps, in a word."""
    lines: list[str] = []
    for piece in _PIECES.split(clean(text)):
        if lines and columns(lines[-1] + piece.rstrip()) <= most:
            lines[-1] += piece
        else:
            lines += _chopped(piece, most)
    return [line.rstrip() for line in lines if line.strip()]


def _chopped(word: str, most: int) -> list[str]:
    """A word in pieces that fit."""
    pieces = [""]
    for char in word:
        if pieces[-1] and char != " " and columns(pieces[-1] + char) > most:
            pieces.append("")
        pieces[-1] += char
    return pieces
