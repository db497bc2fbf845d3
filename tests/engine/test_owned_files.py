"""Files of ours on a real file system go with the folders made for them, though a kill came at any system call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, permutations
from pathlib import Path

import pytest
from fakes.kills import in_files
from fakes.rows import owned_file

from numatune.engine import runs
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.journal import FileJournal
from numatune.engine.observe import observe
from numatune.engine.restore import restore
from numatune.host.local import LocalHost
from numatune.settings.codecs import Text
from numatune.settings.model import Setting

PLACES = ("new", "old", "folder/of/two/one", "folder/of/two/other", "folder/of/another")
WANTED = tuple(replace(owned_file(f"/etc/{name}.conf", "ours\n"), codec=Text()) for name in PLACES)


def apply(host: LocalHost, folder: str, wanted: Sequence[Setting] = WANTED) -> None:
    changes = diff(wanted, observe(wanted, host), Options())
    execute(changes, host, FileJournal(folder), runs.head(folder, "apply", "boot"))


def roll_back(host: LocalHost, folder: str) -> None:
    chosen = runs.choose(runs.listed(folder), every=True)
    ledger = fold(runs.records(chosen.runs))
    seen = observe([owned.setting for owned in ledger.values()], host, name_conflicts=False)
    changes, _ = restore(ledger, seen, "boot")
    start = runs.head(folder, "rollback", "boot", undoes=chosen.numbers)
    execute(changes, host, FileJournal(folder, chosen.numbers), start)


def test_a_kill_at_any_system_call_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    beside = 0
    for left in count():
        etc, folder = tmp_path / f"{left}/etc", f"{tmp_path}/{left}/runs"
        etc.mkdir(parents=True)
        (etc / "old.conf").write_text("theirs\n")
        host = LocalHost(str(etc.parent))
        with in_files(left, monkeypatch) as one:
            apply(host, folder)
        names = {path.name for path in etc.iterdir()}
        beside += not names <= {"old.conf", "new.conf"}
        if not runs.listed(folder):
            assert names == {"old.conf"}
            continue
        roll_back(host, folder)
        there = {path.name: path.is_dir() or path.read_text() for path in etc.iterdir()}
        assert there == {"old.conf": "theirs\n"}, left
        if not one.died:
            assert beside >= 4
            return


@pytest.mark.parametrize("order", [*permutations(WANTED[2:])])
def test_of_several_runs_the_last_file_takes_their_folders_along(tmp_path: Path, order: tuple[Setting, ...]):
    (tmp_path / "etc").mkdir()
    host, folder = LocalHost(str(tmp_path)), f"{tmp_path}/runs"
    for setting in order:
        apply(host, folder, [setting])
    roll_back(host, folder)
    assert list((tmp_path / "etc").iterdir()) == []


def test_a_folder_stays_that_was_there_or_holds_somebody_s_file(tmp_path: Path):
    (tmp_path / "etc/folder").mkdir(parents=True)
    host, folder = LocalHost(str(tmp_path)), f"{tmp_path}/runs"
    apply(host, folder)
    (tmp_path / "etc/folder/of/theirs").touch()
    roll_back(host, folder)
    left = {str(path.relative_to(tmp_path / "etc")) for path in (tmp_path / "etc").rglob("*")}
    assert left == {"folder", "folder/of", "folder/of/theirs"}


def test_a_folder_that_somebody_moved_and_linked_to_stays(tmp_path: Path):
    (tmp_path / "etc").mkdir()
    host, folder = LocalHost(str(tmp_path)), f"{tmp_path}/runs"
    apply(host, folder, WANTED[2:])
    (tmp_path / "etc/folder").rename(tmp_path / "etc/moved")
    (tmp_path / "etc/folder").symlink_to("moved")
    roll_back(host, folder)
    assert {path.name for path in (tmp_path / "etc").iterdir()} == {"folder", "moved"}
    assert [path for path in (tmp_path / "etc/moved").rglob("*") if path.is_file()] == []


def test_what_a_later_run_writes_anew_still_takes_its_folder_along(tmp_path: Path):
    (tmp_path / "etc").mkdir()
    host, folder = LocalHost(str(tmp_path)), f"{tmp_path}/runs"
    apply(host, folder, WANTED[2:3])
    apply(host, folder, [replace(WANTED[2], want="other\n")])
    roll_back(host, folder)
    assert list((tmp_path / "etc").iterdir()) == []
