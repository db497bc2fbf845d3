"""Whether somebody else could have written a file. What others can write is neither read as ours nor run."""

from __future__ import annotations

import os
import stat

from numatune.errors import TrustError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_LINKS = 40
_ROOT = 0


def check(path: str) -> None:
    """Raises TrustError unless the file, and every folder and link on the way, belongs to root or the caller alone.

    No group and no others may write to them; a sticky folder like /tmp is fine, since there nobody takes the place of
    a file that is not his. What is not there at all is fine too: reading says so better.
    """
    todo = [part for part in reversed(os.path.abspath(path).split("/")) if part]  # noqa: PTH100  # pathlib costs a start-up
    at, links = "", 0
    _check_one("/", path)
    while todo:
        part = todo.pop()
        if part == "..":
            at = at.rpartition("/")[0]
            continue
        step = f"{at}/{part}"
        found = _check_one(step, path)
        if found is None:
            return
        if not stat.S_ISLNK(found.st_mode):
            at = step
            continue
        links += 1
        if links > _LINKS:
            raise TrustError(path, "is a link that leads in circles")
        target = os.readlink(step)  # noqa: PTH115  # as above
        at = "" if target.startswith("/") else at
        todo.extend(part for part in reversed(target.split("/")) if part not in {"", "."})


def _check_one(step: str, path: str) -> os.stat_result | None:
    """One file, folder or link. None when it is not there, or may not be asked for."""
    try:
        found = os.lstat(step)
    except OSError:
        return None
    named = step if step == path else f"{step}, on the way to {path},"
    if found.st_uid not in {_ROOT, os.geteuid()}:
        raise TrustError(
            named, f"belongs to user {found.st_uid}", accepted=_owners(), hint=f"chown {_chown_to()} {step}"
        )
    sticky_folder = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_mode & _OTHERS and not sticky_folder and not stat.S_ISLNK(found.st_mode):
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise TrustError(named, f"can be written by others (mode {mode})", hint=f"chmod go-w {step}")
    return found


def _owners() -> str:
    return "root" if os.geteuid() == _ROOT else "root and you"


def _chown_to() -> str:
    return "root" if os.geteuid() == _ROOT else str(os.geteuid())
