"""Why an expression has no value; apart, so that whoever catches it need not import Jinja2."""

from __future__ import annotations


class Failed(ValueError):  # noqa: N818  # reads as what happened to the expression
    """An expression cannot be worked out on this host: what was found, what is accepted instead, a hint."""

    def __init__(self, found: str, accepted: str = "", hint: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.accepted = accepted
        self.hint = hint


class Unknown(Failed):
    """The host, or what was captured of it, does not tell what the expression asks for: no mistake of the profile."""


class Endless(Failed):
    """Variables that lead back to themselves, or an expression that is nested too deeply from where it was asked."""


class Told(Failed):
    """What has no value, as was told already: of a scalar when it was read, of a variable at its own line."""
