"""What can go wrong, as a tree. Every error that a user can cause says where, what was found, what is accepted, a hint.

NumatuneError                 exit 1   anything that we know how to explain
├── ProfileError                       one or more Problems of a profile, all at once
├── HostError                          the host or the captured tree cannot be read as one
├── TrustError                         a file that others could have written
├── StateError                         journal or applied set unreadable, of a newer format, or no room for it
├── MovedError                         the host is no longer what the saved plan was made from
├── UnmetError                         the host is not what the profile expects; nothing was changed
├── PrivilegeError                     needs root
├── LaunchError                        no placement of a process that its policy allows
├── LockedError               exit 75  another run holds the lock
└── UsageError                exit 64  wrong command line
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from numatune.compat import override

_LONGEST = 400
"""Characters of what was found that a message shows: a value may be a whole file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: `where` is file:line or a setting, the rest are phrases without a full stop."""

    where: str
    found: str
    accepted: str = ""
    hint: str = ""

    @classmethod
    def told(cls, error: object) -> Problem:
        """What an error of ours says in one text, ``found; accepted: ...; hint: ...``, without a place."""
        rest, _, hint = str(error).partition("; hint: ")
        found, _, accepted = rest.partition("; accepted: ")
        return cls("", found, accepted, hint)

    @override
    def __str__(self) -> str:
        found, hint = _shortened(self.found), _shortened(self.hint)
        text = f"{self.where}: {found}" if self.where else found
        if self.accepted:
            text += f"; accepted: {self.accepted}"
        return f"{text} ({hint})" if hint else text


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 4 :]}"


class NumatuneError(Exception):
    """A known error: printed as one message, never as a trace."""

    exit_code: ClassVar[int] = 1

    def __init__(self, where: str, found: str, *, accepted: str = "", hint: str = "") -> None:
        super().__init__(where, found)
        self.problems: tuple[Problem, ...] = (Problem(where, found, accepted, hint),)

    @override
    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class ProfileError(NumatuneError):
    """Everything that is wrong with a profile, found before the host is touched."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems[0].where, problems[0].found)
        self.problems = problems


class HostError(NumatuneError):
    """The host, or the captured tree that stands for it, cannot be read."""


class TrustError(NumatuneError):
    """A file that somebody else could have written is not used."""


class StateError(NumatuneError):
    """The journal or the applied set cannot be read, or there is no room to write it."""


class MovedError(NumatuneError):
    """The host has moved since the plan was saved."""


class UnmetError(NumatuneError):
    """What the profile expects of the host is not so: one or more Problems, before anything is changed."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems[0].where, problems[0].found)
        self.problems = problems


class PrivilegeError(NumatuneError):
    """The command needs root."""


class LaunchError(NumatuneError):
    """There is no placement that the policy allows: `run` starts the command unbound, under `strict` not at all."""


class LockedError(NumatuneError):
    """Another run holds the lock."""

    exit_code: ClassVar[int] = 75


class UsageError(NumatuneError):
    """The command line is wrong. 64, because argparse's own 2 would read as drift."""

    exit_code: ClassVar[int] = 64


def did_you_mean(word: str, known: Iterable[str], alike: float = 0.6) -> str:
    """The hint for a misspelt word, "" when nothing is close. `alike`: how close counts, up to 1 for the same.

    A part of a word may be meant by it; else no more than a third of the letters are slips, in a short word one. How
    many letters two words share says too little: of "total" four are in "optional".
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only a typing error pays for it

    close = get_close_matches(word, list(known), n=3, cutoff=alike)
    meant = [name for name in close if word in name or name in word or _slips(word, name) <= _slips_of(word, name)]
    return f"did you mean {meant[0]}?" if meant else ""


def _slips_of(word: str, name: str) -> int:
    return max(1, max(len(word), len(name)) // 3)


def _slips(word: str, name: str) -> int:
    """Letters too many, left out, wrong, or two in each other's place (optimal string alignment distance)."""
    before: list[int] = []
    above = list(range(len(name) + 1))
    for row, letter in enumerate(word, 1):
        here = [row]
        for column, other in enumerate(name, 1):
            least = min(above[column] + 1, here[-1] + 1, above[column - 1] + (letter != other))
            if before and column > 1 and word[row - 2 : row] == name[column - 2 : column][::-1]:
                least = min(least, before[column - 2] + 1)
            here.append(least)
        before, above = above, here
    return above[-1]
