"""Mounts of tmpfs and their options, by the line that mount(8) prints of /proc/self/mounts."""

from __future__ import annotations

from dataclasses import replace

from numatune.settings.model import Setting
from numatune.settings.targets import Folder, Mount, MountOption
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import Verdict, drifted, fine, holds, unread

_TABLE = "/proc/self/mounts"
_UNSET = {"mpol": "default", "huge": "never", "size": ""}


def folder(setting: Setting, target: Folder, ask: Asking) -> Verdict:
    """Judge whether it is there."""
    answer = Answer("here" if ask.exists(target.path) else None, f"test -e {target.path}")
    return fine(setting, answer) if answer.text else drifted(setting, answer, f"{target.path} is not there")


def mount(setting: Setting, target: Mount, ask: Asking) -> Verdict:
    """Judge whether a tmpfs is mounted there."""
    table = ask.once(_TABLE)
    if table.text is None:
        return unread(setting, table)
    found = _options(table.text, target.path)
    answer = replace(table, text="here" if found is not None else None)
    return drifted(setting, answer, f"no tmpfs is mounted at {target.path}") if found is None else fine(setting, answer)


def option(setting: Setting, target: MountOption, ask: Asking) -> Verdict:
    """Judge the option as the kernel shows it; of several mounts on one place the last is seen."""
    table = ask.once(_TABLE)
    found = None if table.text is None else _options(table.text, target.path)
    if table.text is None or found is None:
        return unread(setting, replace(table, text=None, trouble="absent", detail=f"no tmpfs at {target.path}"))
    answer = replace(table, text=found.get(target.name, _UNSET[target.name]))
    return fine(setting, answer) if holds(setting, answer.text or "") else drifted(setting, answer)


def _options(table: str, path: str) -> dict[str, str] | None:
    """Options by name, None when no tmpfs is there. What follows a comma and begins with a digit is a node."""
    lines = [line.split(" ") for line in table.splitlines() if f" {path} " in line]
    seen = [words for words in lines if len(words) > 5 and words[1] == path]  # noqa: PLR2004  # source, point, type, options, two numbers
    if not seen or seen[-1][2] != "tmpfs":
        return None
    options: dict[str, str] = {}
    last = ""
    for word in " ".join(seen[-1][3:-2]).split(","):
        if word[:1].isdigit() and last:
            options[last] += f",{word}"
            continue
        last, _, value = word.partition("=")
        options[last] = _bytes(value)
    return options


def _bytes(value: str) -> str:
    return str(int(value[:-1]) << 10) if value[:-1].isdecimal() and value.endswith("k") else value
