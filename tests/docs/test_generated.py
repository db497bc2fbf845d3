"""What is generated is what the code says now, and is a manual page to those who read such."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from numatune.cli import tree
from numatune.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "docs/man").rglob("*.[15]"))


def test_pages_are_those_that_make_docs_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("COLUMNS", "80")
    made = importlib.import_module("tools.docs.pages").pages(ROOT)
    there = {str(path.relative_to(ROOT)) for path in PAGES} | {"docs/reference.md"}
    assert there == set(made)
    old = [name for name, text in made.items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert not old, "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_mandoc_and_groff_have_nothing_to_say(page: Path) -> None:
    said = []
    commands = (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-ww", "-z", "-K", "utf8", "-T", "utf8"])
    for command in commands:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        ran = subprocess.run([*command, page], capture_output=True, text=True, check=False)
        said.append(ran.stdout + ran.stderr)
    assert said == ["", ""]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_option_and_example_of_its_help(name: str) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    page = ROOT / f"docs/man/man1/numatune-{name}.1"
    argv = ["mandoc", "-T", "utf8", "-O", "width=200", page]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    told = " ".join("".join(_struck(shown)).split())
    command = tree.command(name)
    words = [
        " ".join(command.description.split()),
        *(line for line in command.epilog.splitlines() if line.startswith("  ")),
    ]
    for one in (command, *command.actions):
        words += [argument.text for argument in one.arguments] + [name for o in one.options for name in o.names]
    assert [word for word in words if " ".join(word.split()) not in told] == []


def test_a_wheel_has_manual_pages_and_completions(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PIP_NO_INPUT": "1"})
    if ran.returncode:
        pytest.skip(f"no wheel can be built here: {ran.stderr.strip().splitlines()[-1:]}")
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {name.partition(".data/data/")[2] for name in wheel.namelist()}
    assert {f"share/man/man1/{page.name}" for page in PAGES if page.suffix == ".1"} <= names
    assert {"share/man/man5/numatune-profile.5", "share/zsh/site-functions/_numatune"} <= names
    assert {"share/bash-completion/completions/numatune", "share/fish/vendor_completions.d/numatune.fish"} <= names


def _struck(text: str) -> list[str]:
    """Without what a terminal strikes over: a letter, a backspace, the letter again is a bold one."""
    kept: list[str] = []
    for char in text:
        if char == "\b":
            kept.pop()
        else:
            kept.append(char)
    return kept
