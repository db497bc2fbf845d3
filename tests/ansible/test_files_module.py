"""The module numatune_files on a folder."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import standing
from fakes.kills import in_files

if TYPE_CHECKING:
    from types import ModuleType

    from playing import Json


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = standing.load("numatune_files", monkeypatch)
    monkeypatch.setattr(module, "SYSTEMD_RUNS", Path("/nonexistent"))
    return module


def keep(  # noqa: PLR0913  # as few as a task has arguments
    files: ModuleType,
    folder: Path,
    texts: dict[str, str],
    made: list[Path],
    *,
    manifest: str = "files.json",
    earlier: str = "",
    check: bool = False,
) -> Json:
    """What a task comes to."""
    wanted = {str(folder / "etc"): texts} if texts else {}
    params = {
        "files": wanted,
        "made": [str(path) for path in made],
        "timers": [],
        "manifest": str(folder / manifest),
        "earlier_manifest": str(folder / earlier) if earlier else None,
    }
    with pytest.raises(standing.Ended) as ended:
        files.keep(standing.Task(params, check=check))
    return ended.value.result


@pytest.mark.parametrize("check", [False, True])
def test_a_link_in_the_place_of_a_file_is_named_and_nothing_is_changed(
    files: ModuleType, tmp_path: Path, *, check: bool
) -> None:
    (tmp_path / "etc").mkdir()
    masked = tmp_path / "etc/b.timer"
    masked.symlink_to("/dev/null")
    told = keep(files, tmp_path, {"a.yaml": "a", "b.timer": "b"}, [], check=check)
    assert told["failed"]
    assert f"{masked} is a link to /dev/null" in told["msg"]
    assert os.listdir(tmp_path) == ["etc"]  # noqa: PTH208  # names
    assert list((tmp_path / "etc").iterdir()) == [masked]


def test_what_has_become_a_link_since_is_left(files: ModuleType, tmp_path: Path) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / "etc/a.yaml"
    keep(files, tmp_path, {"a.yaml": "a", "b.yaml": "b"}, [])
    theirs.write_text("theirs")
    theirs.chmod(0o600)
    link.unlink()
    link.symlink_to(theirs)
    told = keep(files, tmp_path, {}, [])
    assert told["warnings"] == [f"{link} is left as it is: somebody has made it a link to {theirs}"]
    assert told["paths"] == [str(tmp_path / "etc/b.yaml")]
    assert (link.readlink(), theirs.read_text(), theirs.stat().st_mode & 0o777) == (theirs, "theirs", 0o600)
    again = keep(files, tmp_path, {}, [])
    assert (again["changed"], again["warnings"]) == (False, [])


def test_a_file_that_was_there_before_it_was_named_stays(files: ModuleType, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.log", tmp_path / "ours.log"
    theirs.write_text("a year of it")
    for _ in range(2):
        keep(files, tmp_path, {"a.yaml": "a"}, [theirs, ours])
        ours.write_text("what a check wrote")
    foreseen = keep(files, tmp_path, {}, [], check=True)
    told = keep(files, tmp_path, {}, [])
    assert told["paths"] == foreseen["paths"] == [str(tmp_path / "etc/a.yaml"), str(ours)]
    assert [one["before"] for one in told["diff"]] == ["a", "(what was written there)\n"]
    assert theirs.read_text() == "a year of it"
    assert not ours.exists()


def test_what_a_check_writes_that_was_still_running_goes_with_the_next_call(files: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "check.log"
    keep(files, tmp_path, {"cron": "line"}, [log])
    keep(files, tmp_path, {}, [])
    log.write_text("what a check wrote that began before")
    assert keep(files, tmp_path, {}, [])["paths"] == [str(log)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("texts", [{"cron": "line"}, {}], ids=["put again", "taken away"])
def test_what_a_killed_task_left_beside_its_files_goes(
    files: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]
) -> None:
    steps = 0
    for left in count():
        with in_files(left, monkeypatch) as one:
            keep(files, tmp_path, {"cron": "line"}, [])
        names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
        steps += bool(names - {"cron", "files.json"})
        keep(files, tmp_path, texts, [])
        assert {path.name for path in tmp_path.rglob("*")} == ({"etc", "cron", "files.json"} if texts else set())
        keep(files, tmp_path, {}, [])
        if not one.died:
            assert steps >= 2
            return


@pytest.mark.parametrize("killed", [False, True])
def test_a_manifest_that_lies_elsewhere_now_is_taken_over(
    files: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/a").write_text("theirs")
    keep(files, tmp_path, {"a": "ours", "b": "ours"}, [], manifest="old.json")
    moved = {"manifest": "new/files.json", "earlier": "old.json"}
    foreseen = keep(files, tmp_path, {"a": "ours"}, [], check=True, **moved)
    if killed:
        with in_files(2, monkeypatch):
            keep(files, tmp_path, {"a": "ours"}, [], **moved)
    told = keep(files, tmp_path, {"a": "ours"}, [], **moved)
    assert told["paths"] == foreseen["paths"] == [str(tmp_path / "etc/b")]
    assert not (tmp_path / "old.json").exists()
    keep(files, tmp_path, {}, [], manifest="new/files.json")
    assert {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"a": "theirs"}


def test_what_has_another_name_than_a_part_stays(files: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    others = {"cron.numatune-12", ".cron.numatune-x", ".cron", ".cron.swp"}
    for name in others:
        (tmp_path / "etc" / name).touch()
    keep(files, tmp_path, {"cron": "line"}, [])
    assert {path.name for path in (tmp_path / "etc").iterdir()} == {"cron", *others}
