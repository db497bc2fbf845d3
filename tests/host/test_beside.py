"""What a kill leaves beside a file, and who takes it away."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from fakes.kills import in_files

from numatune.capture import pack
from numatune.capture.tree import Tree
from numatune.host.local import LocalHost


def left_beside(folder: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> list[str]:
    """Names in the folder after a kill at any system call of a write, each kill in the same folder."""
    left: set[str] = set()
    for steps in count():
        with in_files(steps, monkeypatch) as one:
            write()
        left |= {path.name for path in folder.iterdir()}
        if not one.died:
            return sorted(left)
    raise AssertionError


def test_the_next_write_takes_away_what_killed_ones_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    host = LocalHost(str(tmp_path))
    left = left_beside(tmp_path, monkeypatch, lambda: host.replace("/own.conf", "new\n", 0o644))
    assert len(left) > 2, "else nothing is tested"
    assert list(tmp_path.iterdir()) == [tmp_path / "own.conf"]


def test_so_does_whoever_takes_the_file_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    host = LocalHost(str(tmp_path))
    with in_files(1, monkeypatch):
        host.replace("/own.conf", "new\n", 0o644)
    assert len(list(tmp_path.iterdir())) == 1
    host.drop("/own.conf")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_is_written_likewise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "host.tar"
    left = left_beside(tmp_path, monkeypatch, lambda: pack.write(str(path), Tree(), force=True))
    assert len(left) > 2, "else nothing is tested"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", [".own.conf.swp", ".own.conf.1234567", ".own.conf.1234567g", ".own.conf.x.12345678", "own.conf.12345678"]
)
def test_what_has_another_name_stays(name: str, tmp_path: Path):
    (tmp_path / name).touch()
    LocalHost(str(tmp_path)).replace("/own.conf", "new\n", 0o644)
    assert (tmp_path / name).exists()


def test_what_is_no_plain_file_of_the_callers_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / ".own.conf.12345678").symlink_to("/dev/null")
    (tmp_path / ".own.conf.1234567a").mkdir()
    (tmp_path / ".own.conf.1234567b").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    LocalHost(str(tmp_path)).replace("/own.conf", "new\n", 0o644)
    assert len(list(tmp_path.iterdir())) == 4
