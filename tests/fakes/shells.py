"""Hosts that are folders, and shells to look at them with: what a capture meets on the other side."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from fakes.trees import LINK
from numatune.host.protocol import Reader

Capture = Callable[[Mapping[str, str]], Reader]
"""Captures a generated host and opens what came."""

SHELLS: Mapping[str, str] = {
    name: path for name in ("dash", "bash", "busybox", "ksh", "mksh", "yash") if (path := shutil.which(name))
}
"""POSIX shells of this machine by name."""


def lay_out(tree: Mapping[str, str], folder: Path) -> Path:
    """A generated tree as files in a folder, with its modes."""
    modes: Mapping[str, int] = getattr(tree, "modes", {})
    for path, text in tree.items():
        place = folder / path.strip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            place.mkdir(exist_ok=True)
        elif text.startswith(LINK):
            place.symlink_to(text[len(LINK) :])
        else:
            place.write_text(text, encoding="utf-8")
            place.chmod(modes.get(path, 0o644))
    return folder


def bare_path(folder: Path, shell: str) -> Path:
    """A folder for PATH with ``sh``, cat and ls, and nothing else: above all no Python. `shell`: of SHELLS.

    With busybox cat and ls are busybox too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sh").symlink_to(SHELLS[shell])
    for name in ("cat", "ls"):
        (folder / name).symlink_to(SHELLS[shell] if shell == "busybox" else str(shutil.which(name)))
    return folder


def program(folder: Path, name: str, text: str) -> Path:
    """A shell script in a folder for PATH."""
    place = folder / name
    place.unlink(missing_ok=True)
    place.write_text(f"#!{os.path.realpath('/bin/sh')}\n{text}", encoding="utf-8")
    place.chmod(0o755)
    return place


def ssh(folder: Path, bare: Path, log: Path) -> None:
    """A program ``ssh`` in `folder` that logs its arguments and runs the wanted command with `bare` for PATH."""
    program(
        folder,
        "ssh",
        f'printf "%s\\n" "$@" > {log}\nfor word do command=$word; done\nPATH={bare} exec {bare}/sh -c "$command"\n',
    )
