"""The command and what is behind it, on this machine: profile or applied set in, verdicts, files and exit codes out."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from numatune.api.planning import Request, prepare
from numatune.api.verifying import verify
from numatune.cli.main import main
from numatune.engine import applied, paths, when
from numatune.engine import store as state
from numatune.engine.boot import boot_id
from numatune.errors import StateError
from numatune.host.local import LocalHost
from numatune.settings.applied import AppliedRow, Hold, Holds
from numatune.settings.plan import Remembered, Status
from numatune.views import plan_json

PROFILE = """\
name: tryout
sysctl:
  vm.swappiness: ">= 0"
  vm.overcommit_memory: {value: 2, why: "nobody has it so"}
"""
HELD = int(Path("/proc/sys/vm/overcommit_memory").read_text())


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A profile of which one setting holds here, and one does not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "tryout.yaml").write_text(PROFILE.replace("value: 2", f"value: {(HELD + 1) % 3}"))
    return "./tryout.yaml"


def store(profile: str, *, fingerprint: str | None = None, remembered: Remembered | None = None) -> None:
    """As if the profile had been applied here."""
    reader = LocalHost()
    made = prepare(reader, Request(profiles=(profile,)))
    rows = tuple(AppliedRow(change.setting, None, remembered) for change in made.plan.rows)
    host = made.plan.host
    known = {"boot_id": host.boot_id, "fingerprint": fingerprint or host.fingerprint}
    stored = applied.made(made.parts, rows, reader, who="root", **known)
    applied.save(paths.applied(paths.state()), stored)


def test_a_difference_is_exit_2_and_names_who_said_so(profile: str, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", profile]) == 2
    out = capsys.readouterr().out
    assert f"vm.overcommit_memory  {HELD} (wanted {(HELD + 1) % 3})" in out
    assert "vm.swappiness" not in out
    assert "asked: " in out
    assert "1 of 2 settings not as wanted · 1 drifted · 1 ok" in out
    assert out.endswith("numatune plan ./tryout.yaml\n")


def test_verbose_shows_what_is_as_wanted_too(profile: str, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", profile, "-v", "--differences-ok"]) == 0
    out = capsys.readouterr().out
    assert "✓ vm.swappiness" in out
    assert "nobody has it so; [tryout.yaml:4]" in out


def test_json_has_the_rows_of_a_plan_and_who_was_asked(profile: str, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", profile, "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, json.loads(plan_json.schema()))
    rows = {row["id"]: row for row in said["settings"]}
    row = rows["sysctl:vm.overcommit_memory"]
    assert (row["status"], row["current"]) == ("drifted", str(HELD))
    assert row["verified_by"] in {"sysctl -n vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"}
    assert said["summary"]["differences"] == 1


def test_what_is_held_is_shown_and_not_counted(profile: str, capsys: pytest.CaptureFixture[str]):
    now = when.stamp()
    held = Hold("sysctl:vm.overcommit_memory", "alice", now, when.stamp(3600), "ticket 7")
    state.save(paths.holds(paths.state()), Holds((held,)))
    assert main(["verify", profile]) == 0
    out = capsys.readouterr().out
    assert "vm.overcommit_memory" in out
    assert "on hold: held by alice until" in out
    assert "As wanted · 1 ok · 1 on hold" in out


def test_sections_can_be_chosen(profile: str, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", profile, "--skip", "sysctl"]) == 0
    assert main(["verify", profile, "--only", "sysctll"]) == 64
    assert "sysctll" in capsys.readouterr().err


def test_junit_lies_where_the_caller_is(profile: str, tmp_path: Path):
    assert main(["verify", profile, "--junit", "verify.xml"]) == 2
    assert "vm.overcommit_memory" in (tmp_path / "verify.xml").read_text()


def test_without_a_profile_it_is_the_applied_set(profile: str, capsys: pytest.CaptureFixture[str]):
    store(profile)
    Path(profile).unlink()
    assert main(["verify"]) == 2
    out, err = capsys.readouterr()
    assert (f"vm.overcommit_memory  {HELD}" in out, out.endswith("numatune drift\n"), err) == (True, True, "")


def test_values_are_worked_out_anew_on_a_host_that_has_changed(profile: str, capsys: pytest.CaptureFixture[str]):
    store(profile, fingerprint="another")
    Path(profile).unlink()
    assert main(["verify"]) == 2
    assert "worked out anew" in capsys.readouterr().err


def test_with_nothing_applied_it_says_what_to_do(profile: str, capsys: pytest.CaptureFixture[str]):
    assert profile
    assert main(["verify"]) == 1
    assert (
        capsys.readouterr().err
        == "numatune: nothing is applied here (numatune verify PROFILE compares with a profile)\n"
    )
    with pytest.raises(StateError):
        verify(LocalHost(), Request(profiles=()))


@pytest.mark.parametrize(
    ("held", "boot", "status"),
    [
        (str(HELD), "this", Status.UNCHANGEABLE),
        (str(HELD), "an earlier one", Status.DRIFTED),
        (str(HELD + 7), "this", Status.DRIFTED),
    ],
)
def test_what_only_a_refused_write_could_tell_is_remembered(profile: str, held: str, boot: str, status: Status):
    now = boot_id(LocalHost())
    wanted = str((HELD + 1) % 3)
    store(profile, remembered=Remembered(Status.UNCHANGEABLE, wanted, held, now if boot == "this" else boot))
    said, _ = verify(LocalHost(), Request(profiles=()))
    assert {row.setting.id: row.status for row in said.rows}["sysctl:vm.overcommit_memory"] is status


def test_a_tree_cannot_be_asked(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("sys", "proc"):
        (tmp_path / "host" / name).mkdir(parents=True)
    for more in ([], ["--root-is-live"]):
        assert main(["--root", "host", *more, "verify", profile]) == 64
        assert "verify asks the running host itself" in capsys.readouterr().err
