"""Files, folders and links that somebody else could have written, or put in the place of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numatune.engine import trust
from numatune.errors import TrustError

SOMEBODY = 12345

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    file = folder / "profile.yaml"
    file.touch(mode=0o644)
    return file


def test_ours_is_fine(file: Path):
    trust.check(str(file))
    trust.check(str(file.parent))
    trust.check("/etc/hostname")
    trust.check(str(file.parent / "not-there.yaml"))


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write(file: Path, mode: int):
    file.chmod(mode)
    with pytest.raises(TrustError, match="written by others") as raised:
        trust.check(str(file))
    assert f"chmod go-w {file}" in str(raised.value)


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_folder_that_others_can_write(file: Path, mode: int):
    file.parent.chmod(mode)
    with pytest.raises(TrustError, match="on the way to"):
        trust.check(str(file))


def test_a_sticky_folder_is_fine(file: Path):
    file.parent.chmod(0o1777)
    trust.check(str(file))


@needs_root
def test_a_file_of_somebody_in_a_sticky_folder(file: Path):
    file.parent.chmod(0o1777)
    os.chown(file, SOMEBODY, SOMEBODY)
    with pytest.raises(TrustError, match=f"belongs to user {SOMEBODY}"):
        trust.check(str(file))


@needs_root
def test_a_folder_of_somebody(file: Path):
    os.chown(file.parent, SOMEBODY, SOMEBODY)
    with pytest.raises(TrustError, match=f"belongs to user {SOMEBODY}"):
        trust.check(str(file))


def test_a_link_is_looked_at_on_both_sides(file: Path, tmp_path: Path):
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    trust.check(str(link))
    file.parent.chmod(0o777)
    with pytest.raises(TrustError):
        trust.check(str(link))


def test_a_link_to_a_folder_on_the_way_and_a_relative_one(file: Path, tmp_path: Path):
    (tmp_path / "way").symlink_to("folder")
    (file.parent / "up.yaml").symlink_to("../folder/./profile.yaml")
    for path in (tmp_path / "way" / "profile.yaml", file.parent / "up.yaml", tmp_path / "way" / "up.yaml"):
        trust.check(str(path))
    file.chmod(0o666)
    for path in (tmp_path / "way" / "profile.yaml", file.parent / "up.yaml", tmp_path / "way" / "up.yaml"):
        with pytest.raises(TrustError):
            trust.check(str(path))


@needs_root
def test_a_link_of_somebody(file: Path, tmp_path: Path):
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    link = sticky / "profile.yaml"
    link.symlink_to(file)
    os.chown(link, SOMEBODY, SOMEBODY, follow_symlinks=False)
    with pytest.raises(TrustError, match=f"belongs to user {SOMEBODY}"):
        trust.check(str(link))


def test_links_in_circles(tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(TrustError, match="circles"):
        trust.check(str(tmp_path / "a"))


@needs_root
def test_the_caller_trusts_himself_and_root_but_root_does_not_trust_him(file: Path, monkeypatch: pytest.MonkeyPatch):
    os.chown(file, SOMEBODY, SOMEBODY)
    with pytest.raises(TrustError):
        trust.check(str(file))
    monkeypatch.setattr(trust.os, "geteuid", lambda: SOMEBODY)
    trust.check(str(file))
    os.chown(file, SOMEBODY + 1, SOMEBODY)
    with pytest.raises(TrustError, match="root and you"):
        trust.check(str(file))
