"""Blocks ```console lab of the pages that teach, played on a virtual machine: what a fake kernel has not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes import transcripts

from lab.machine import Machine

pytestmark = pytest.mark.lab

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]
BLOCK = re.compile(r"^```console lab\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROFILE = re.compile(r"^```yaml\n(# ([\w-]+\.yaml)\n.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.matrix] * (page.stem != "tutorial"))
        for page in PAGES
        if BLOCK.search(page.read_text("utf-8"))
    ],
)
def test_every_command_shows_what_the_page_says(page: Path, nps2: Machine) -> None:
    """Where a page applies its first profile before, that is applied here too."""
    text = page.read_text(encoding="utf-8")
    files = {f"/root/pages/{name}": body for body, name in PROFILE.findall(text)}
    nps2.ssh.put(files)
    first = next(iter(files))
    blocks = BLOCK.findall(text)
    if f"apply {Path(first).name} --yes" not in "".join(blocks):
        nps2.run(f"numatune apply {first} --yes --differences-ok")
    wrong = []
    try:
        for command, expected in (step for block in blocks for step in transcripts.steps(block)):
            plain = command.removeprefix("sudo ")
            told = nps2.run(f'cd /root/pages; COLUMNS=80 {plain} 2>&1; code=$?; test $code = 0 || echo "[exit $code]"')
            difference = transcripts.difference(expected, told.out.rstrip("\n").splitlines())
            wrong += [f"$ {command}\n{difference}"] if difference else []
    finally:
        nps2.run("numatune rollback --all --yes; rm -r /root/pages")
    assert not wrong, "\n\n".join(wrong)
