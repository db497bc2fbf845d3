"""What can stand at the cursor of a half-typed command line: pure, over the command line as data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from numatune.cli import tree
from numatune.cli.commands import COMMANDS

Word = tuple[str, str]
"""A word that can be typed, and what it means."""

Values = Callable[[tree.Argument, Sequence[str]], tuple[Sequence[Word], bool]]
"""What an argument may be, given the words before it, and whether it may be a file too."""

_LIST = ",..."
_SEVERAL = " ..."


@dataclass(frozen=True, slots=True)
class Answer:
    """What can be typed.

    kind   words: `words` alone; files: files as well; command: somebody else's command begins at the word `begin`
    begin  files: what stands before the file's name in the word itself, as ``--root=``
    words  whole words, `begin` included
    """

    kind: Literal["words", "files", "command"]
    begin: str = ""
    words: tuple[Word, ...] = ()


@dataclass(slots=True)
class _Line:
    """How far the words before the cursor have led."""

    command: tree.Command
    values: Values
    before: Sequence[str]
    seen: set[tree.Argument] = field(default_factory=set)
    waits: tree.Argument | None = None
    places: int = 0
    free: bool = True  # whether options may still come: no -- yet
    other: int = 0  # where somebody else's command begins

    def read(self, number: int, word: str) -> None:
        """One word that is complete."""
        if self.other:
            return
        if self.waits is not None and not (word.startswith("-") and self.waits.metavar.endswith(_SEVERAL)):
            if not self.waits.metavar.endswith(_SEVERAL):
                self.waits = None
            return
        self.waits = None
        if self.free and word == "--":
            self.free = False
        elif self.free and word.startswith("-"):
            self._option(word)
        elif self.command.takes_a_command:
            self.other = number
        elif not self._went_on(word):
            self.places += 1

    def _option(self, word: str) -> None:
        name, equals, _ = word.partition("=")
        for option in self.command.options:
            if name in option.names:
                self.seen.add(option)
                self.waits = option if option.metavar and not equals else None

    def _went_on(self, word: str) -> bool:
        """Whether a word names a command or an action, whose branch it then is."""
        if not self.command.words:
            self.command = tree.command(word) if word in COMMANDS else self.command
            return True
        for action in self.command.actions:
            if action.words[-1] == word:
                self.command = action
                return True
        return bool(self.command.actions)

    def answer(self, word: str) -> Answer:
        """What can stand where `word` has begun."""
        if self.other:
            return Answer("command", str(self.other))
        if self.waits is not None and not (word.startswith("-") and self.waits.metavar.endswith(_SEVERAL)):
            return self._value(self.waits, "", word)
        name, equals, text = word.partition("=")
        option = next((one for one in self.command.options if name in one.names), None)
        if self.free and equals and option is not None and option.metavar:
            return self._value(option, f"{name}=", text)
        if self.free and word.startswith("-"):
            return Answer("words", words=tuple(self._options()))
        return self._place()

    def _place(self) -> Answer:
        command = self.command
        if not command.words:
            return Answer("words", words=tuple((name, text) for name, (_, text) in COMMANDS.items()))
        if command.actions:
            return Answer("words", words=tuple((one.words[-1], one.text) for one in command.actions))
        if command.takes_a_command:
            return Answer("command", str(len(self.before)))
        places = command.positionals
        if self.places < len(places):
            return self._value(places[self.places], "", "")
        if places and places[-1].many:
            return self._value(places[-1], "", "")
        return Answer("words", words=tuple(self._options()) if self.free else ())

    def _value(self, argument: tree.Argument, begin: str, text: str) -> Answer:
        words, files = self.values(argument, self.before)
        if argument.metavar.endswith(_LIST):
            first, comma, _ = text.rpartition(",")
            given = set(first.split(","))
            begin += first + comma
            words = [(word, told) for word, told in words if word not in given]
        taken = self.before if argument.many and not argument.names else ()
        shown = tuple((begin + word, told) for word, told in words if word not in taken)
        return Answer("files" if files else "words", begin if files else "", shown)

    def _options(self) -> Iterable[Word]:
        for option in self.command.options:
            if option.many or option not in self.seen:
                yield from ((name, option.text) for name in option.names if len(option.names) == 1 or len(name) > 2)  # noqa: PLR2004  # of -v and --verbose the long one


def answer(words: Sequence[str], values: Values) -> Answer:
    """What can stand in place of the last word, which may be empty; the words are those after ``numatune``."""
    line = _Line(tree.top(), values, words[:-1])
    for number, word in enumerate(words[:-1]):
        line.read(number, word)
    return line.answer(words[-1])


def split(line: str) -> list[str]:
    """The words of a line up to the cursor, without the first; the last one may be open, and empty."""
    end = "\x01"
    for close in ("", "'", '"'):
        try:
            *words, last = shlex.split(line + end + close)
        except ValueError:
            continue
        return [*words[1:], last.replace(end, "")]
    return [""]
