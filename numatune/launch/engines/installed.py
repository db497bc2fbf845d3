"""The packages beside the Python that a command runs on: found by names and texts of files, nothing is imported."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_HEAD = 1024
_FOLDERS = ("lib", "lib64", "local/lib")
_PACKAGES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Installed:
    """Folders of packages, in the order in which that Python looks into them."""

    folders: tuple[str, ...]

    def version(self, package: str) -> str:
        """From the name of its metadata folder, "" when it is not there."""
        prefix = f"{package.replace('-', '_')}-"
        for folder in self.folders:
            for name in _names(folder):
                if name.lower().startswith(prefix) and name.endswith(".dist-info"):
                    return name[len(prefix) : -len(".dist-info")]
        return ""

    def says(self, path: str, text: str) -> bool:
        """Whether a file of a package (``vllm/engine/arg_utils.py``) has this text in it."""
        for folder in self.folders:
            try:
                with open(f"{folder}/{path}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # pathlib costs a start-up
                    return text in file.read()
            except OSError:
                continue
        return False


def beside(command: Sequence[str], environment: Mapping[str, str]) -> Installed:
    """What is installed for the Python that runs this command; nothing where it cannot be told."""
    program = which(command[0], environment)
    if not program:
        return Installed(())
    python = program if _is_python(program) else _interpreter(program, environment)
    return Installed(tuple(_folders(python)) if python else ())


def which(name: str, environment: Mapping[str, str]) -> str:
    """The path of a program, "" when there is none."""
    if "/" in name:
        return name if os.access(name, os.X_OK) else ""
    paths = (f"{folder or '.'}/{name}" for folder in environment.get("PATH", os.defpath).split(":"))
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), "")  # noqa: PTH113  # as above


def _is_python(path: str) -> bool:
    return path.rpartition("/")[2].startswith("python")


def _interpreter(program: str, environment: Mapping[str, str]) -> str:
    """The Python of a script's first line; pip writes long ones as ``#!/bin/sh`` and ``'''exec' /path/python``."""
    try:
        with open(program, "rb") as file:  # noqa: PTH123  # as above
            lines = file.read(_HEAD).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    if not lines or not lines[0].startswith("#!"):
        return ""
    words = lines[0][2:].split()
    if words and words[0].endswith("/sh") and len(lines) > 1 and lines[1].startswith("'''exec'"):
        words = lines[1].split()[1:2]
    if words and words[0].endswith("/env"):
        words = [which(word, environment) for word in words[1:] if not word.startswith("-")][:1]
    path = words[0].strip('"') if words else ""
    return path if _is_python(path) else ""


def _folders(python: str) -> Iterator[str]:
    """Of a virtual environment its own; of a system's Python those of its prefix."""
    prefix = python.rpartition("/")[0].rpartition("/")[0]
    for lib in _FOLDERS:
        for name in _names(f"{prefix}/{lib}"):
            if name.startswith("python3"):
                yield from (f"{prefix}/{lib}/{name}/{packages}" for packages in _PACKAGES)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # as above
    except OSError:
        return []
