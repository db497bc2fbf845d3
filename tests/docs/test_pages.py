"""Plays the pages that teach: each block ```console, command after command, with what a person sees.

Before the first block of a scene stands a comment with the head of a transcript (tests/transcripts), as in

    <!-- host: {nodes: 2}
    live: true -->

A block ```yaml whose first line is ``# NAME.yaml`` is that file. A block ```console lab is played on a virtual machine
(tests/lab/test_pages.py). PAGES=write puts what was seen into the pages.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fakes import transcripts

from numatune.cli import run_options
from numatune.cli.parser import parse

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = [DOCS / "tutorial.md", DOCS / "topology.md", *sorted((DOCS / "howto").glob("*.md"))]
PART = re.compile(
    r"^<!-- (?P<head>host[^>]*?) -->$|^```(?P<kind>[a-z ]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)


VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \w+ +"), "...  "),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "..."),
    (re.compile(r"a file of \d+ bytes"), "a file of ... bytes"),
    (re.compile(r"^on \S*/(\w+):"), r"on ...\1:"),
)
"""What a page does not say of what was seen, because it is another time and another folder."""


class Scene:
    """One host, and what is played on it."""

    def __init__(self, head: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self._kernel = transcripts.lay(yaml.safe_load(head), folder, patch)
        self.wrong: list[str] = []

    def played(self, body: str) -> str:
        """The block as it was seen; what the page says already stays, when it is true."""
        shown: list[str] = []
        for command, expected in transcripts.steps(body):
            seen = transcripts.played(command, self._kernel)
            difference = transcripts.difference(expected, seen)
            self.wrong += [f"$ {command}\n{difference}"] if difference else []
            shown += [f"$ {command}", *(map(_varying, seen) if difference else expected)]
        return "".join(f"{line}\n" for line in shown)


def _varying(line: str) -> str:
    for what, stands in VARIES:
        line = what.sub(stands, line)
    return line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_shows_what_the_page_says(page: Path, tmp_path: Path) -> None:
    text, made, at = page.read_text(encoding="utf-8"), "", 0
    wrong: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        scene = None
        for number, part in enumerate(PART.finditer(text)):
            whole = part[0]
            if part["head"]:
                patch.undo()
                scene = Scene(part["head"], tmp_path / str(number), patch)
            elif part["kind"] == "yaml" and (name := re.match(r"# ([\w-]+\.yaml)\n", part["body"])):
                Path(name[1]).write_text(part["body"], encoding="utf-8")
            elif part["kind"] == "console":
                assert scene is not None, "a block before any host"
                whole = f"```console\n{scene.played(part['body'])}```"
                wrong += scene.wrong
                scene.wrong.clear()
            made += text[at : part.start()] + whole
            at = part.end()
    if wrong and os.environ.get("PAGES") == "write":
        page.write_text(made + text[at:], encoding="utf-8")
    assert made
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_command_of_a_page_is_left_out(page: Path) -> None:
    """Whatever a page shows of numatune as a command is in a block that is played, but for how it is installed."""
    text = page.read_text(encoding="utf-8")
    outside = PART.sub("", text)
    assert not [line for line in outside.splitlines() if line.startswith(("    numatune", "    sudo numatune", "$ "))]


def _shown(page: Path) -> Iterator[str]:
    """Lines of numatune in blocks that are not played: ```sh and what is indented."""
    text = page.read_text(encoding="utf-8")
    lines = [line for part in PART.finditer(text) if part["kind"] == "sh" for line in part["body"].splitlines()]
    lines += re.findall(r"^    (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    for line in lines:
        found = re.match(r"(?:sudo )?(?:\S*/)?numatune( [a-z-][a-z].*)", line)
        command = re.split(r" {3}|[<>|&;]", found[1])[0] if found else ""
        if command and not re.search(r"[\[\](…]|\.\.\.|COMMAND", line):
            yield command


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *DOCS.rglob("*.md")], ids=lambda page: page.stem)
def test_what_is_shown_and_not_played_is_a_right_command_line(page: Path) -> None:
    for line in _shown(page):
        words = shlex.split(line, comments=True)
        if words[:1] == ["run"]:
            run_options.read(words)
        elif "--help" not in words:
            assert parse(words).run


def _links(page: Path) -> Iterator[str]:
    yield from re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *DOCS.rglob("*.md")], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    gone = [link for link in _links(page) if "://" not in link and not (page.parent / link).exists()]
    assert not gone


def test_every_page_is_in_the_index() -> None:
    listed = {(DOCS / link).resolve() for link in _links(DOCS / "index.md")}
    assert {page.resolve() for page in DOCS.rglob("*.md") if page.name != "index.md"} <= listed
