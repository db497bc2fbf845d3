"""What can go wrong, as a tree. Every error that a user can cause says where, what was found, what is accepted, a hint.

NumatuneError                 exit 1   anything that we know how to explain
├── ProfileError                       one or more Problems of a profile, all at once
├── HostError                          the host or the captured tree cannot be read as one
├── TrustError                         a file that others could have written
├── StateError                         journal or applied set unreadable, of a newer format, or no room for it
├── MovedError                         the host is no longer what the saved plan was made from
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
        found = self.found
        if len(found) > _LONGEST:
            found = f"{found[: _LONGEST // 2]}…{found[-_LONGEST // 4 :]}"
        text = f"{self.where}: {found}" if self.where else found
        if self.accepted:
            text += f"; accepted: {self.accepted}"
        return f"{text} ({self.hint})" if self.hint else text


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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The hint for a misspelt word, "" when nothing is close."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a typing error pays for it

    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""
