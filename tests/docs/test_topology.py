"""The picture of docs/topology.md is what the command draws of that page's host. PAGES=write draws it anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest  # noqa: TC002  # one import block reads better than two
import yaml
from fakes import transcripts
from fakes.commands import typed

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/topology.md"


def test_the_picture_is_of_the_pages_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = PAGE.read_text(encoding="utf-8").partition("<!-- ")[2].partition(" -->")[0]
    transcripts.lay(yaml.safe_load(head), tmp_path, monkeypatch)
    seen = typed("topology", "--svg", "topology.svg")
    assert (seen.code, seen.out) == (0, "")
    drawn = Path("topology.svg").read_text(encoding="utf-8")
    kept = PAGE.with_suffix(".svg")
    if os.environ.get("PAGES") == "write":
        kept.write_text(drawn, encoding="utf-8")
    assert drawn == kept.read_text(encoding="utf-8")
    assert typed("topology", "--svg", "-").out == drawn
