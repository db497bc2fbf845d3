"""One case: profiles and a host, as data that a file of cases/ can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Held = str | bytes | None
"""What a path of a host holds: a text, bytes that are none, ``-> target`` for a link; None: nothing is there."""

ASKED = "asked.yaml"


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is put before numatune.

    host      arguments of fakes.trees.host_tree, or
    captured  the name of a captured host
    tree      path -> what it holds instead; a path that ends in / is a folder, whatever is there
    files     profiles by name; `ASKED` is the one that is asked for; none: `shipped` is
    options   of the command line, after the profile
    """

    host: Mapping[str, Any] = field(default_factory=dict)
    captured: str = ""
    tree: Mapping[str, Held] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    shipped: str = "llm-inference"
    options: tuple[str, ...] = ()


def read(path: Path) -> tuple[Case, tuple[str, ...]]:
    """A case of a file, and the parts of the one message that it ends in; () where it ends in rows."""
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert data.pop("tells"), "a case says what it shows"
    said = data.pop("says", [])
    return Case(**{**data, "options": tuple(data.get("options", ()))}), tuple(said)


def written(case: Case, tells: str) -> str:
    """The file of a case."""
    data: dict[str, Any] = {"tells": tells}
    usual = Case()
    for name in ("host", "captured", "tree", "files", "shipped", "options"):
        value = getattr(case, name)
        if value != getattr(usual, name):
            data[name] = list(value) if isinstance(value, tuple) else value
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
