"""Where a profile's name leads: a path, then /etc/numatune/profiles, then what is shipped.

NUMATUNE_PROFILES_DIR takes the place of /etc/numatune/profiles, to plan with profiles that are not there yet.
Shipped profiles lie inside the wheel; an editable install has them in the checkout beside the package.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from numatune.errors import Problem, ProfileError, did_you_mean

MAX_BYTES: Final = 256 * 1024
"""What a profile may have."""
ETC: Final = os.environ.get("NUMATUNE_PROFILES_DIR") or "/etc/numatune/profiles"
Origin = Literal["path", "etc", "shipped"]


@dataclass(frozen=True, slots=True)
class Found:
    """A profile's file. `label`: what messages and sources call it; `path`: where it is read."""

    label: str
    path: str
    origin: Origin


def is_path(name: str) -> bool:
    """Whether a name is a path rather than a name to look up."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def names_one(word: str, *, etc: str = ETC) -> bool:
    """Whether a word of a command line can only mean a profile: one that there is, or a path."""
    there = any(os.path.isfile(found.path) for found in candidates(word, etc=etc))  # noqa: PTH113  # as in find
    return there or (is_path(word) and not word.startswith("-"))


def shipped_folder() -> str:
    """The folder of the shipped profiles."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "shipped"
    return str(inside if inside.is_dir() else package.parent / "profiles")


def find(name: str, *, beside: Found | None = None, where: str = "", etc: str = ETC) -> Found:
    """The file that `name` means, for the profile `beside` (a relative path starts in its folder).

    A profile that extends its own name means the next one of that name: /etc/numatune/profiles/x.yaml can extend the
    shipped x. Raises ProfileError, whose `where` is the given one.
    """
    if is_path(name):
        label = os.path.normpath(name)
        path = label
        if beside and not Path(name).is_absolute():
            label = os.path.normpath(os.path.join(os.path.dirname(beside.label), name))  # noqa: PTH118, PTH120  # pure text
            path = os.path.normpath(os.path.join(os.path.dirname(beside.path), name))  # noqa: PTH118, PTH120
        if not os.path.isfile(path):  # noqa: PTH113  # a name that is too long is no file to it, and no error either
            what = f"no profile {label}" + (": it is no regular file" if os.path.exists(path) else "")  # noqa: PTH110  # as above
            raise ProfileError((Problem(where, what, hint=_path_hint(name)),))
        return Found(label, path, "path" if beside is None else beside.origin)
    for found in candidates(name, etc=etc):
        if (beside is None or found.path != beside.path) and os.path.isfile(found.path):  # noqa: PTH113  # as above
            return found
    known = sorted({Path(found.path).stem for found in catalogue(etc=etc)})
    hint = did_you_mean(name, known) or "a path holds a / or ends in .yaml"
    if not beside and os.path.isfile(f"{name}.yaml"):  # noqa: PTH113  # as above
        hint = f"did you mean ./{name}.yaml?"
    raise ProfileError((Problem(where, f"no profile {name}", ", ".join(known) or "a path", hint),))


def text(found: Found) -> str:
    """What a profile's file says, or the first of it where that is more than a profile may be. Raises ProfileError."""
    try:
        with Path(found.path).open("rb") as file:
            data = file.read(MAX_BYTES + 4)
    except OSError as error:
        raise ProfileError((Problem(found.label, f"not readable: {os.strerror(error.errno or 0)}"),)) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProfileError((Problem(f"{found.label}:{line}", "a byte that is no UTF-8", "UTF-8 text"),)) from error


def candidates(name: str, *, etc: str = ETC) -> tuple[Found, ...]:
    """The files that a bare name can mean, the first that exists counts."""
    return (
        Found(f"{etc}/{name}.yaml", f"{etc}/{name}.yaml", "etc"),
        Found(f"shipped/{name}.yaml", f"{shipped_folder()}/{name}.yaml", "shipped"),
    )


def catalogue(*, etc: str = ETC) -> tuple[Found, ...]:
    """Every profile that can be named, those of /etc first; one name may be there twice."""
    found = []
    for folder, origin in ((etc, "etc"), (shipped_folder(), "shipped")):
        paths = sorted(Path(folder).glob("*.yaml")) if Path(folder).is_dir() else []
        label = etc if origin == "etc" else "shipped"
        found += [Found(f"{label}/{path.name}", str(path), "etc" if origin == "etc" else "shipped") for path in paths]
    return tuple(found)


def _path_hint(name: str) -> str:
    stem = Path(name).stem
    known = {Path(found.path).stem for found in catalogue()}
    return f"the profile called {stem} is named without a path" if stem in known else ""
