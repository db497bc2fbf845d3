"""Words that plans are told in, each with what it means."""

from __future__ import annotations

import enum

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Word(enum.StrEnum):
    """A word and its meaning: ``OK = "ok", "the host holds the wanted value"``."""

    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Self:
        """The text is the word alone. No meaning: a look-up by value, as type checkers see it."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.meaning = meaning
        return made
