"""What explain knows of one thing, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from numatune.settings.plan import Change


@dataclass(frozen=True, slots=True)
class Explained:
    """One thing that was asked about.

    title   id of the setting, or the section of the profile
    known   headings and what is known under them, host or not: ("range", "0 to 7, a set of bits")
    change  its row here, when a profile is applied or named
    check   command that shows the value without numatune
    """

    title: str
    known: tuple[tuple[str, str], ...] = ()
    change: Change | None = None
    check: str = ""
