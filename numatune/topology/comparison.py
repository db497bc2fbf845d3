"""Two hosts side by side: what each is made of as entries, and where they differ. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["same", "differs", "untold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing of one host. (section, of, name) is the same on both hosts for what is to be compared.

    of       what it belongs to: "node 0", "nic 0000:41:00.0", "sysctl"
    value    for people; None: this host does not tell (a file that was not captured)
    numbers  compared instead of the value, each within `slack` or `percent` of the greater
    """

    section: str
    of: str
    name: str
    value: str | None
    numbers: tuple[int, ...] = ()
    slack: int = 0
    percent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The same thing of both. None: it is not there, or with "untold" the host does not tell."""

    section: str
    of: str
    name: str
    a: str | None
    b: str | None
    state: State


def compare(a: Iterable[Entry], b: Iterable[Entry]) -> tuple[Row, ...]:
    """One row for each thing that either has, in the order of a, what only b has after what it belongs to."""
    left, right = _by_place(a), _by_place(b)
    places = sorted({**left, **right}, key=_order([*left], [*right]))
    return tuple(_row(place, left.get(place), right.get(place)) for place in places)


Place = tuple[str, str, str]


def _by_place(entries: Iterable[Entry]) -> dict[Place, Entry]:
    return {(entry.section, entry.of, entry.name): entry for entry in entries}


class _order:  # noqa: N801  # a key function that remembers
    """Sections, what belongs together and names keep the order in which they came, those of a first."""

    def __init__(self, left: list[Place], right: list[Place]) -> None:
        both = [*left, *right]
        self._ranks: tuple[dict[object, int], ...] = tuple(
            {part: rank for rank, part in reversed(list(enumerate(place[:depth] for place in both)))}
            for depth in (1, 2, 3)
        )

    def __call__(self, place: Place) -> tuple[int, ...]:
        return tuple(ranks[place[:depth]] for depth, ranks in enumerate(self._ranks, 1))


def _row(place: Place, a: Entry | None, b: Entry | None) -> Row:
    section, of, name = place
    untold = any(entry is not None and entry.value is None for entry in (a, b))
    state: State = "untold" if untold else "same" if a and b and _same(a, b) else "differs"
    return Row(section=section, of=of, name=name, a=a.value if a else None, b=b.value if b else None, state=state)


def _same(a: Entry, b: Entry) -> bool:
    if a.value == b.value:
        return True
    if not a.numbers or len(a.numbers) != len(b.numbers):
        return False
    slack, percent = max(a.slack, b.slack), max(a.percent, b.percent)
    return all(abs(x - y) <= max(slack, max(x, y) * percent // 100) for x, y in zip(a.numbers, b.numbers, strict=True))
