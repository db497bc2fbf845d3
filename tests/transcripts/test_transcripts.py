"""Runs every transcript in this folder: commands, and what a person sees.

A transcript is a YAML head, a line ``---``, and then commands with their output as on a terminal of 80 columns:

    tells: one sentence
    host: {nodes: 2}          arguments of the generated host
    tree: {path: text}        laid over it
    live: true                the host is a kernel that can be written; else it is the captured tree ./host
    read_only: [/proc/sys]    of a live host: what is on a read-only mount
    files: {two.yaml: text}   what lies in the working directory

``...`` stands for anything in a line, or alone on a line for any lines. ``[exit 2]`` follows what did not exit 0.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_transcript(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, body = file.read_text(encoding="utf-8").partition("\n---\n")
    _lay(yaml.safe_load(head), tmp_path, monkeypatch)
    for command, expected in _steps(body):
        seen = _typed(command)
        pattern = "".join(map(_pattern, expected))
        if not re.fullmatch(pattern, "".join(f"{line}\n" for line in seen)):
            difference = difflib.unified_diff(expected, seen, "expected", "seen", n=99, lineterm="")
            pytest.fail("\n".join([f"{file.name}: $ {command}", *difference]), pytrace=False)


def _lay(head: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory, the state folder and the host of a transcript."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    for name, text in head.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    tree = host_tree(**head.get("host", {}))
    tree.update(head.get("tree", {}))
    if head.get("live"):
        lend(FakeKernel(tree, read_only=head.get("read_only", ())), folder, monkeypatch)
        return
    reader = FakeKernel(tree)
    for path, text in reader.files.items():
        made = folder / "host" / path.lstrip("/")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text, encoding="utf-8")
        made.chmod(reader.modes.get(path, 0o644))
    for path, target in reader.links.items():
        made = folder / "host" / path.lstrip("/")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.symlink_to(Path("/".join(".." for _ in path.split("/")[2:]) or ".") / target.lstrip("/"))


def _steps(body: str) -> Iterator[tuple[str, list[str]]]:
    for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        yield command, output.rstrip("\n").splitlines()


def _typed(command: str) -> list[str]:
    """What a terminal shows of one command."""
    program, *argv = shlex.split(command)
    assert program == "numatune"
    seen = typed(*argv)
    lines = seen.screen.rstrip("\n").splitlines()
    return [*lines, f"[exit {seen.code}]"] if seen.code else lines


def _pattern(line: str) -> str:
    """Of one line, with its end. No part of it matches a line's end in two ways, so that a mismatch is soon known."""
    if line.strip() == "...":
        return r"(?:[^\n]*\n)*?"
    return "[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
