"""Which profiles there are: the head of each file, without working anything out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from numatune.errors import ProfileError
from numatune.profile import lookup
from numatune.profile.document import text_of
from numatune.profile.reader import read


@dataclass(frozen=True, slots=True)
class Listed:
    """One profile that can be named. `name` is what finds it; `summary` says so when it cannot be read.

    hidden  another of the same name is found first
    """

    name: str
    origin: lookup.Origin
    path: str
    version: str
    summary: str
    hidden: bool = False


def listing(*, etc: str = lookup.ETC) -> tuple[Listed, ...]:
    """Every profile of /etc/numatune/profiles and those shipped, in the order in which a name is looked up."""
    found: list[Listed] = []
    for each in lookup.catalogue(etc=etc):
        name = Path(each.path).stem
        hidden = any(other.name == name for other in found)
        try:
            tree, _ = read(lookup.text(each), each.label)
        except ProfileError as error:
            found.append(Listed(name, each.origin, each.path, "", f"cannot be read: {error.problems[0]}", hidden))
            continue
        found.append(Listed(name, each.origin, each.path, text_of(tree, "version"), text_of(tree, "summary"), hidden))
    return tuple(found)
