"""The module numatune_profile on folders: what state tells of, and the profiles to be."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import standing

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """With state and profiles in a folder."""
    module = standing.load("numatune_profile", monkeypatch)
    monkeypatch.setattr(module, "STATE", tmp_path / "state")
    monkeypatch.setattr(module, "PROFILES", tmp_path / "etc/profiles")
    return module


def test_journals_without_an_applied_set_are_not_complete(profile: ModuleType, tmp_path: Path) -> None:
    task = standing.Task({"state": "absent", "unreached": "warn"}, check=False)
    with pytest.raises(standing.Ended) as nothing:
        profile.not_installed(task)
    assert nothing.value.result["complete"]
    journal = tmp_path / "state/runs/000003.jsonl"
    journal.parent.mkdir(parents=True)
    journal.touch()
    with pytest.raises(standing.Ended) as left:
        profile.not_installed(task)
    assert not left.value.result["complete"]
    (told,) = task.warnings
    assert "tells of runs with the originals (runs/000003.jsonl)" in told
    assert told.endswith("install it first")


def test_the_profiles_to_be_are_a_copy_of_the_whole_tree(profile: ModuleType, tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    texts = {"x.yaml": "x", "launch": "", "profiles/site.yaml": "old", "profiles/common/base.yml": "base"}
    for name, text in texts.items():
        (etc / name).parent.mkdir(parents=True, exist_ok=True)
        (etc / name).write_text(text)
    elsewhere = tmp_path / "linked.yaml"
    elsewhere.write_text("linked")
    (etc / "profiles/linked.yaml").symlink_to(elsewhere)
    (etc / "profiles/again").symlink_to("..")
    folder = Path(profile.profiles_to_be({"site.yaml": "new", "linked.yaml": "ours"}))
    files = {str(path.relative_to(folder.parent)): path.read_text() for path in folder.parent.rglob("*.y*ml")}
    shutil.rmtree(folder.parent)
    assert files == {
        "x.yaml": "x",
        f"{folder.name}/site.yaml": "new",
        f"{folder.name}/common/base.yml": "base",
        f"{folder.name}/linked.yaml": "ours",
    }
    assert elsewhere.read_text() == "linked"


def test_profiles_that_are_named_by_a_path_are_found_in_the_copy(profile: ModuleType, tmp_path: Path) -> None:
    named = [f"{tmp_path}/etc/profiles/common/base.yaml", f"{tmp_path}/etc/./profiles/a.yaml", "site", "/srv/b.yaml"]
    found = profile.planned({"profiles": named}, "/copy/profiles")["profiles"]
    assert found == ["/copy/profiles/common/base.yaml", "/copy/profiles/a.yaml", "site", "/srv/b.yaml"]
    assert profile.planned({"profiles": named}, "")["profiles"] == named
