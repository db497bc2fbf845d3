"""Paths below a machine's root: what is refused, how names sort, how links resolve without leaving the root."""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_LINKS = 40
"""Links on one way, as many as Linux follows (path_resolution(7)); more is a loop."""

TOPS = ("sys", "proc")
"""What tells the root of a machine's tree."""

ACCEPTED = "a folder, .tar, .tar.gz, .tar.xz, .tar.bz2 or .tar.zst that holds sys/ and proc/, at its top or below one"
"""What a captured tree may be, for error messages."""

_DIGITS = re.compile(r"(\d+)", re.ASCII)


def parts(path: str) -> tuple[str, ...] | None:
    """Components of an absolute path; None when it is relative, holds a NUL, or steps up by ``..``."""
    if not path.startswith("/") or "\0" in path:
        return None
    found = tuple(part for part in path.split("/") if part not in {"", "."})
    return None if ".." in found else found


def is_sound(path: str) -> bool:
    """Whether `parts` takes the path. Asked before every read, tens of thousands of times: by sight mostly."""
    if path.startswith("/") and "/." not in path and "\0" not in path:
        return True
    return parts(path) is not None


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts node2 before node10."""
    return tuple((0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in _DIGITS.split(name) if piece)


def resolve(path: str, link: Callable[[str], str | None]) -> str | None:
    """The path without links. `link` gives the target where a path is a link, else None.

    A target that starts with ``/`` starts at the machine's root. None: the path is refused by `parts`, a link leads
    out of the root, or links go in circles.
    """
    start = parts(path)
    if start is None:
        return None
    todo = list(reversed(start))
    done: list[str] = []
    followed = 0
    while todo:
        part = todo.pop()
        if part == "..":
            if not done:
                return None
            done.pop()
            continue
        target = link("/" + "/".join((*done, part)))
        if target is None:
            done.append(part)
            continue
        followed += 1
        if followed > MAX_LINKS or "\0" in target:
            return None
        if target.startswith("/"):
            done.clear()
        todo.extend(piece for piece in reversed(target.split("/")) if piece not in {"", "."})
    return "/" + "/".join(done)
