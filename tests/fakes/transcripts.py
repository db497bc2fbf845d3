"""Commands and what a person sees of them, as text: how it is read, played on a generated host, and compared."""

from __future__ import annotations

import difflib
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest  # noqa: TC002  # one import block reads better than two

from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from numatune import api

PROGRAM = "numatune"
_SYSCTL = "sysctl"


def lay(head: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel | None:
    """The working directory, the state folder and the hosts of a transcript. A live host is what comes back."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    for name, text in head.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, arguments in head.get("hosts", {}).items():
        _lay_out(FakeKernel(host_tree(**arguments)), folder / name)
    tree = host_tree(**head.get("host", {}))
    tree.update(head.get("tree", {}))
    if not head.get("live"):
        _lay_out(FakeKernel(tree), folder / "host")
        return None
    kernel, captured = FakeKernel(tree, read_only=head.get("read_only", ())), api.open_reader
    lend(kernel, folder, monkeypatch)
    monkeypatch.setattr(api, "open_reader", lambda root="/", **how: kernel if root == "/" else captured(root, **how))
    return kernel


def _lay_out(reader: FakeKernel, folder: Path) -> None:
    for path, text in reader.files.items():
        made = folder / path.lstrip("/")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text, encoding="utf-8")
        made.chmod(reader.modes.get(path, 0o644))
    for path, target in reader.links.items():
        made = folder / path.lstrip("/")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.symlink_to(Path("/".join(".." for _ in path.split("/")[2:]) or ".") / target.lstrip("/"))


def steps(body: str) -> Iterator[tuple[str, list[str]]]:
    """Each command, which follows ``$ ``, and the lines below it."""
    for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        yield command, output.rstrip("\n").splitlines()


def played(command: str, kernel: FakeKernel | None = None) -> list[str]:
    """What a terminal shows of one command: of numatune, of sysctl -w on a live host, or of a plain tool here."""
    words = shlex.split(command)
    program, *argv = words[1:] if words[0] == "sudo" else words
    if program == PROGRAM:
        seen = typed(*argv)
        lines = seen.screen.rstrip("\n").splitlines()
        return [*lines, f"[exit {seen.code}]"] if seen.code else lines
    if program == _SYSCTL and kernel is not None:
        key, _, value = argv[-1].partition("=")
        kernel.put(f"/proc/sys/{key.replace('.', '/')}", f"{value}\n")
        return [f"{key} = {value}"]
    ran = subprocess.run([program, *argv], capture_output=True, text=True, check=True)
    return ran.stdout.rstrip("\n").splitlines()


def difference(expected: Sequence[str], seen: Sequence[str]) -> str:
    """ "" when it is as expected: ``...`` stands for anything in a line, or alone on a line for any lines."""
    if re.fullmatch("".join(map(_pattern, expected)), "".join(f"{line}\n" for line in seen)):
        return ""
    return "\n".join(difflib.unified_diff(expected, seen, "expected", "seen", n=99, lineterm="")) or "blanks at an end"


def _pattern(line: str) -> str:
    """Of one line, with its end. No part of it matches a line's end in two ways, so that a mismatch is soon known."""
    if line.strip() == "...":
        return r"(?:[^\n]*\n)*?"
    return "[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
