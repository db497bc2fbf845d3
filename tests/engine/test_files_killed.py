"""Files of ours on a real file system: a kill at any system call leaves nothing that a rollback does not take away."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest  # noqa: TC002  # one import block reads better than two
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

WANTED = tuple(replace(owned_file(f"/etc/{name}.conf", "ours\n"), codec=Text()) for name in ("new", "old"))


def apply(host: LocalHost, folder: str) -> None:
    changes = diff(WANTED, observe(WANTED, host), Options())
    execute(changes, host, FileJournal(folder), runs.head(folder, "apply", "boot"))


def roll_back(host: LocalHost, folder: str) -> None:
    chosen = runs.choose(runs.listed(folder), every=True)
    ledger = fold(runs.records(chosen.runs))
    seen = observe([owned.setting for owned in ledger.values()], host, name_conflicts=False)
    changes, _ = restore(ledger, seen, "boot")
    execute(changes, host, FileJournal(folder, chosen.numbers), runs.head(folder, "rollback", "boot", undoes=(1,)))


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
        assert {path.name: path.read_text() for path in etc.iterdir()} == {"old.conf": "theirs\n"}, left
        if not one.died:
            assert beside >= 4
            return
