"""apply and rollback as a person and a program meet them, on a fake kernel."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import jsonschema
import pytest
from fakes import kills
from fakes.commands import typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two

from numatune import api
from numatune.api.applying import _Apply
from numatune.cli import terminal
from numatune.engine import lock, paths
from numatune.views import plan_json

SWAPPINESS, STAT = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval"


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in (folder / "state").rglob("*") if path.is_file()
    }


def test_apply_then_rollback_gives_back_what_was_there(kernel: FakeKernel) -> None:
    before = kernel.state()
    assert typed("apply", "three.yaml", "--yes").code == 0
    assert kernel.read(SWAPPINESS).text == "10\n"
    assert typed("rollback", "--yes").code == 0
    assert kernel.state() == before


def test_the_second_apply_writes_nothing_anywhere(kernel: FakeKernel, tmp_path: Path) -> None:
    typed("apply", "three.yaml", "--yes")
    kernel.log.clear()
    before = state(tmp_path)
    again = typed("apply", "three.yaml", "--yes")
    assert again.code == 0
    assert "0 changed" in again.out
    assert kernel.log == []
    assert state(tmp_path) == before


def test_check_is_the_plan(kernel: FakeKernel, tmp_path: Path) -> None:
    checked, planned = typed("apply", "three.yaml", "--check"), typed("plan", "three.yaml")
    assert (checked.out, checked.code) == (planned.out, 2)
    assert kernel.log == []
    assert not (tmp_path / "state").exists()


def test_what_cannot_be_reached_is_2_and_named(kernel: FakeKernel) -> None:
    done = typed("apply", "absent.yaml", "--yes")
    assert done.code == 2
    assert "? kernel.no_such_thing" in done.out
    assert kernel.read(SWAPPINESS).text == "10\n"
    assert typed("apply", "absent.yaml", "--yes", "--differences-ok").code == 0


def test_a_report_for_programs_has_the_rows_of_the_plan(kernel: FakeKernel) -> None:
    report = typed("apply", "three.yaml", "--yes", "--json").json
    jsonschema.validate(report, json.loads(plan_json.schema()))
    assert report["run"] == 1
    assert report["summary"]["changes"] == len(report["settings"]) == 3
    rows = {row["id"]: row for row in report["settings"]}
    assert (rows["sysctl:vm.swappiness"]["before"], rows["sysctl:vm.swappiness"]["current"]) == ("60", "10")
    assert kernel.log


def refuse(kernel: FakeKernel, path: str) -> None:
    """Let the kernel refuse every write to a file."""
    original = kernel.write
    kernel.write = lambda where, text: errno.EINVAL if where == path else original(where, text)  # type: ignore[method-assign]


def test_a_refused_write_is_failed_and_the_rest_goes_on(kernel: FakeKernel) -> None:
    refuse(kernel, STAT)
    done = typed("apply", "three.yaml", "--yes", "--json")
    assert done.code == 2
    rows = {row["id"]: row for row in done.json["settings"]}
    assert (rows["sysctl:vm.stat_interval"]["status"], rows["sysctl:vm.stat_interval"]["errno"]) == ("failed", "EINVAL")
    assert rows["sysctl:vm.swappiness"]["status"] == "ok"


def test_on_error_rollback_is_all_or_nothing(kernel: FakeKernel) -> None:
    before = kernel.state()
    refuse(kernel, STAT)
    done = typed("apply", "three.yaml", "--yes", "--on-error", "rollback")
    assert done.code == 1
    assert done.out.endswith("A write was refused, so run 1 was taken back (run 2).\n")
    assert kernel.state() == before
    assert typed("drift").code == 1  # nothing is applied


def test_a_run_that_was_cut_off_is_told_by_the_next_command_and_taken_back(kernel: FakeKernel) -> None:
    before = kernel.state()

    with kills.at(kernel, "after", what=STAT) as one:
        typed("apply", "three.yaml", "--yes")
    assert one.died
    for command in (("history",), ("plan", "three.yaml"), ("explain", "vm.swappiness")):
        told = typed(*command)
        assert "run 1 (apply by " in told.err
        assert "was cut off before its end; take it back with: sudo numatune rollback" in told.err
    assert "cut off" in typed("history").out
    assert typed("rollback", "--yes").code == 0
    assert kernel.state() == before
    assert typed("history").err == ""


def test_interrupted_is_130_and_says_how_to_go_back(kernel: FakeKernel) -> None:
    def interrupt(moment: str, path: str) -> None:
        if (moment, path) == ("before", STAT):
            raise KeyboardInterrupt

    kernel.hook = interrupt
    done = typed("apply", "three.yaml", "--yes")
    assert done.code == 130
    assert done.err.splitlines()[0] == "numatune: interrupted"
    assert "take it back with: sudo numatune rollback" in done.err


def test_what_somebody_changed_since_is_spared_and_named(kernel: FakeKernel) -> None:
    typed("apply", "three.yaml", "--yes")
    kernel.put(SWAPPINESS, "33\n")
    done = typed("rollback", "--yes")
    assert done.code == 2
    assert "sysctl:vm.swappiness: somebody set it to 33 since" in done.out
    assert kernel.read(SWAPPINESS).text == "33\n"
    assert kernel.read(STAT).text == "1\n"


def test_rollback_takes_the_applied_set_back_too(kernel: FakeKernel) -> None:  # noqa: ARG001
    typed("apply", "other.yaml", "--yes")
    typed("apply", "three.yaml", "--yes")
    assert "three" in typed("drift", "-v").out
    typed("rollback", "--yes")
    assert "other" in typed("drift", "-v").out
    typed("rollback", "--yes")
    assert "nothing is applied" in typed("drift").err


def test_rollback_by_run_and_of_all(kernel: FakeKernel) -> None:
    before = kernel.state()
    typed("apply", "other.yaml", "--yes")
    middle = kernel.state()
    typed("apply", "three.yaml", "--yes")
    assert typed("rollback", "--run", "2", "--yes").code == 0
    assert kernel.state() == middle
    typed("apply", "three.yaml", "--yes")
    assert typed("rollback", "--all", "--yes", "--json").json["takes_back"] == [1, 4]
    assert kernel.state() == before
    assert typed("rollback", "--run", "2", "--yes").code == 64


def test_rollback_check_changes_nothing(kernel: FakeKernel) -> None:
    typed("apply", "three.yaml", "--yes")
    kernel.log.clear()
    done = typed("rollback", "--check")
    assert done.code == 0
    assert "~ vm.swappiness     10 → 60" in done.out
    assert kernel.log == []


def test_nobody_to_ask_is_64(kernel: FakeKernel) -> None:
    for command in (("apply", "three.yaml"), ("rollback",)):
        done = typed(*command)
        assert (done.code, done.out) == (64, "")
        assert "--yes" in done.err
    assert kernel.log == []


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Somebody at the terminal, who gives these answers."""
    answers: list[str] = []
    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(terminal, "ask", lambda question: answers.pop(0) == "y")  # noqa: ARG005
    return answers


def test_no_is_no(kernel: FakeKernel, somebody: list[str]) -> None:
    somebody.append("n")
    done = typed("apply", "three.yaml")
    assert done.code == 1
    assert "~ vm.swappiness" in done.out
    assert kernel.log == []


def test_yes_is_yes_and_nothing_to_do_asks_nothing(kernel: FakeKernel, somebody: list[str]) -> None:
    somebody += ["y", "y"]
    assert typed("apply", "three.yaml").code == 0
    assert typed("apply", "three.yaml").code == 0
    assert typed("rollback").code == 0
    assert kernel.read(SWAPPINESS).text == "60\n"
    assert somebody == []


def test_a_host_that_moved_while_asking_is_left_alone(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(_: str) -> bool:
        kernel.put(SWAPPINESS, "33\n")
        return True

    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(terminal, "ask", slowly)
    done = typed("apply", "three.yaml")
    assert done.code == 1
    assert "sysctl:vm.swappiness: held '60' when the plan was saved, holds '33' now" in done.err
    assert kernel.log == []


def test_the_lock_is_not_held_while_asking(
    kernel: FakeKernel,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holders: list[str] = []

    def look(_: str) -> bool:
        holders.append(lock.holder(paths.lock()))
        return False

    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(terminal, "ask", look)
    typed("apply", "three.yaml")
    assert holders == [""]


def test_another_run_holds_the_lock_is_75_with_its_pid(kernel: FakeKernel) -> None:
    with lock.held(paths.lock(), "apply"):
        done = typed("apply", "three.yaml", "--yes", "--wait", "0")
    assert done.code == 75
    assert "held by pid " in done.err
    assert kernel.log == []


def test_one_line_of_every_run_goes_to_syslog(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    lines: list[str] = []
    monkeypatch.setattr("syslog.syslog", lambda _, text: lines.append(text))
    typed("apply", "three.yaml", "--yes", "--why", "ticket\n7")
    typed("apply", "three.yaml", "--yes")
    typed("rollback", "--yes")
    assert len(lines) == 2
    assert lines[0].startswith("apply, run 1, by ")
    assert ": three 1 (" in lines[0]
    assert lines[0].endswith("3 changed; why: ticket?7")
    assert lines[1].startswith("rollback of 1, run 2, by ")


def test_only_and_skip_release_nothing(kernel: FakeKernel) -> None:
    typed("apply", "three.yaml", "--yes")
    typed("apply", "other.yaml", "--only", "sysctl", "--yes")
    assert kernel.read(SWAPPINESS).text == "10\n"
    assert kernel.read(STAT).text == "20\n"
    assert "three other" in typed("drift", "--json").json["profile"]


def test_a_journal_that_cannot_be_written_leaves_the_host_alone(kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "runs").write_text("in the way")
    done = typed("apply", "three.yaml", "--yes")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert kernel.log == []


def test_without_root_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nsysctl: {vm.swappiness: 10}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    done = typed("apply", "a.yaml", "--yes")
    assert (done.code, done.err) == (1, "numatune: changing this host needs root (use sudo)\n")


def test_as_root_a_profile_that_others_can_write_is_refused(kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "three.yaml").chmod(0o666)
    if api.hosts.os.geteuid() == 0:
        done = typed("apply", "three.yaml", "--yes")
        assert done.code == 1
        assert "can be written by others" in done.err
        assert kernel.log == []


def test_units_that_stop_are_followed_by_a_fresh_look(kernel: FakeKernel) -> None:
    saved = api.prepare(kernel, api.Request(profiles=("three.yaml",)))
    fresh = _Apply(saved, kernel, "")._difference()  # noqa: SLF001  # what execute asks for once they have stopped
    assert [change.setting.id for change in fresh] == [change.setting.id for change in saved.plan.changes]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is asked to trust somebody else's file")
def test_as_root_a_profile_of_somebody_else_is_refused_with_what_to_do(kernel: FakeKernel, tmp_path: Path) -> None:
    os.chown(tmp_path / "three.yaml", 65534, -1)
    done = typed("apply", "three.yaml", "--yes")
    assert done.code == 1
    hint = f"sudo chown root {tmp_path}/three.yaml, or put it under /etc/numatune/profiles, owned by root"
    assert done.err == f"numatune: {tmp_path}/three.yaml: belongs to user 65534; accepted: root ({hint})\n"
    assert kernel.log == []
