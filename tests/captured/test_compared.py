"""`compare` on captured real hosts: each is like itself, and any two are told apart, or not, without a stumble."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.commands import typed

from numatune.api import comparing
from numatune.host.captured import open_tree
from numatune.host.protocol import Reader

FOLDER = Path(os.environ.get("NUMATUNE_CAPTURES") or Path(__file__).parents[3] / "shared/captures")
NAMES = sorted(path.name.removesuffix(".oracle.json") for path in FOLDER.glob("*.oracle.json"))
pytestmark = [
    pytest.mark.captures,
    pytest.mark.skipif(not NAMES, reason=f"no captured hosts in {FOLDER} (NUMATUNE_CAPTURES names another folder)"),
]
each = pytest.mark.parametrize("name", NAMES or [pytest.param("none", id="none")])


@functools.cache
def tree(name: str) -> Reader:
    """Unpacked once."""
    return open_tree(str(FOLDER / f"{name}.tar.xz"))


@contextmanager
def opened(name: str) -> Iterator[Reader]:
    yield tree(name)


@pytest.fixture(autouse=True)
def unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "opened", opened)


@each
def test_a_host_is_like_itself(name: str) -> None:
    done = typed("compare", name, name, "--json")
    assert (done.code, done.err, done.json["rows"]) == (0, "", [])
    assert done.json["summary"]["same"] > 5


@each
def test_it_is_told_from_the_next(name: str) -> None:
    other = NAMES[(NAMES.index(name) + 1) % len(NAMES)]
    done = typed("compare", name, other)
    assert (done.code in {0, 2}, done.err) == (True, "")
    back = typed("compare", other, name, "--json")
    assert (back.code, back.err, bool(back.json["rows"])) == (done.code, "", done.code == 2)
