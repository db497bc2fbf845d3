"""``numatune check``: quiet when clean, one at a time, and everybody is told who was asked to be."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import syslog
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.commands import Typed, typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two

import numatune
from numatune import api
from numatune.api import checking, outputs
from numatune.engine import lock, paths

SWAPPINESS = "/proc/sys/vm/swappiness"
MOVED = "MM sysctl:vm.swappiness  10 -> 60; apply would set 10"

Move = Callable[[], None]


@pytest.fixture
def move(kernel: FakeKernel) -> Move:
    """three.yaml is applied; the call moves one value away from it."""
    assert typed("apply", "./three.yaml", "--yes").code == 0
    return lambda: kernel.put(SWAPPINESS, "60\n")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What goes to syslog."""
    lines: list[str] = []
    monkeypatch.setattr(syslog, "syslog", lambda _, text: lines.append(text))
    return lines


def metric(name: str) -> str:
    for line in Path("numatune.prom").read_text(encoding="utf-8").splitlines():
        if line.startswith((f"{name} ", f"{name}{{")):
            return line.rpartition(" ")[2]
    return ""


def catching(name: str) -> str:
    """A command line that puts its standard input into a file."""
    code = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
    return shlex.join([sys.executable, "-c", code, name])


def test_clean_says_nothing_and_differences_are_said_once(move: Move):
    assert typed("check") == Typed(0, "", "", "")
    move()
    told = typed("check")
    assert (told.code, told.err) == (2, "")
    assert told.out.splitlines()[0] == MOVED
    assert told.out.isascii()  # cron's mail may say that it is
    assert typed("check", "--differences-ok").code == 0


def test_with_nothing_applied_the_check_fails(kernel: FakeKernel):
    assert kernel.live
    told = typed("check", "--textfile", "numatune.prom", "--log", "log", "--notify", catching("told"))
    assert (told.code, told.out) == (1, "")
    assert (
        told.err
        == "numatune: drift: nothing is applied on this host (numatune drift PROFILE compares with a profile)\n"
    )
    assert (metric("numatune_check_success"), metric("numatune_check_last_success_timestamp_seconds")) == ("0", "")
    assert "check failed: drift: nothing is applied on this host" in Path("log").read_text()
    assert json.loads(Path("told").read_text())["error"]["kind"] == "NumatuneError"


def test_asked_for_all_it_tells_all_also_of_a_clean_host(move: Move):
    assert "vm.swappiness" in typed("check", "-v").out
    assert typed("check", "--json").json["summary"]["differences"] == 0
    move()
    told = typed("check", "--json", "--syslog")
    assert (told.code, told.json["summary"]["differences"]) == (2, 1)


def test_syslog_gets_a_line_a_difference(move: Move, said: list[str]):
    assert typed("check", "--syslog") == Typed(0, "", "", "")
    assert said == []
    move()
    assert typed("check", "--syslog") == Typed(2, "", "", "")
    assert said == [f"drift: {MOVED}"]


def test_a_log_grows_by_lines_with_their_time(move: Move):
    assert typed("check", "--log", "log").code == 0
    assert not Path("log").exists()
    move()
    before = os.umask(0o077)
    try:
        assert typed("check", "--log", "log") == Typed(2, "", "", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("log").stat().st_mode) == 0o644
    Path("log").chmod(0o640)  # as logrotate may
    typed("check", "--log", "log")
    lines = Path("log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [f"drift: {MOVED}"] * 2
    assert stat.S_IMODE(Path("log").stat().st_mode) == 0o640


def test_a_value_forges_no_line(move: Move, kernel: FakeKernel):
    move()
    kernel.put(SWAPPINESS, "60\n2026-11-29T14:03:00Z drift: forged\x1b[2J\n")
    typed("check", "--log", "log")
    (line,) = Path("log").read_text().splitlines()
    assert line.isprintable()


def planted(kind: str) -> None:
    Path("secret").write_text("secret\n")
    match kind:
        case "link":
            Path("log").symlink_to("secret")
        case "dangling link":
            Path("log").symlink_to("nothing")
        case "hard link":
            Path("log").hardlink_to("secret")
        case "pipe":
            os.mkfifo("log")
        case "folder":
            Path("log").mkdir()
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe", "folder"])
def test_a_log_leads_nowhere_else(kind: str, move: Move):
    planted(kind)
    assert typed("check", "--log", "log") == Typed(0, "", "", "")  # nothing to write
    move()
    told = typed("check", "--log", "log")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("numatune: log: cannot be written: ")
    assert Path("secret").read_text() == "secret\n"
    assert not Path("nothing").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_log_of_somebody_else_is_not_written(move: Move):
    move()
    Path("log").write_text("")
    os.chown("log", 65534, 65534)
    assert "no plain file of root or the caller" in typed("check", "--log", "log").err
    assert Path("log").read_text() == ""


def test_the_textfile_is_written_each_time_and_keeps_what_a_failed_check_cannot_know(
    move: Move, monkeypatch: pytest.MonkeyPatch
):
    now = 1_800_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    check = ("check", "--textfile", "numatune.prom")
    assert typed(*check) == Typed(0, "", "", "")
    assert stat.S_IMODE(Path("numatune.prom").stat().st_mode) == 0o644
    assert [metric(f"numatune_check_last_{name}_timestamp_seconds") for name in ("run", "success")] == [
        "1800000000"
    ] * 2
    assert metric("numatune_drift_differences") == "0"
    move()
    now += 900
    assert typed(*check) == Typed(2, "", "", "")
    assert (metric("numatune_check_success"), metric("numatune_drift_differences")) == ("1", "1")
    assert metric("numatune_check_last_success_timestamp_seconds") == "1800000900"
    now += 900
    Path("state/applied.json").write_text("broken")
    told = typed(*check)
    assert (told.code, "is no file of numatune's" in told.err) == (1, True)
    assert (metric("numatune_check_success"), metric("numatune_drift_differences")) == ("0", "")
    assert metric("numatune_check_last_run_timestamp_seconds") == "1800001800"
    assert metric("numatune_check_last_success_timestamp_seconds") == "1800000900"
    assert sorted(path.name for path in Path().glob("*numatune.prom*")) == ["numatune.prom"]


def test_a_clean_host_is_looked_at_once_for_the_textfile(move: Move, monkeypatch: pytest.MonkeyPatch):
    check = ("check", "--textfile", "numatune.prom")
    typed(*check)
    held = Path("numatune.prom").read_text().partition("# What the host held")[2]
    assert 'section="sysctl"' in held
    with monkeypatch.context() as blind:
        blind.setattr("numatune.api.drifting.from_stored", pytest.fail)
        assert typed(*check) == Typed(0, "", "", "")
    assert Path("numatune.prom").read_text().partition("# What the host held")[2] == held
    move()
    typed(*check)
    assert metric("numatune_drift_differences") == "1"
    assert typed("apply", "./three.yaml", "--yes").code == 0
    typed(*check)
    assert metric("numatune_drift_differences") == "0"


def test_what_others_put_in_the_place_of_the_textfile_is_replaced_and_not_followed(move: Move):
    assert move
    Path("secret").write_text("numatune_check_repairs_total 7\n")
    Path("numatune.prom").symlink_to("secret")
    assert typed("check", "--textfile", "numatune.prom").code == 0
    assert not Path("numatune.prom").is_symlink()
    assert metric("numatune_check_repairs_total") == "0"
    assert Path("secret").read_text() == "numatune_check_repairs_total 7\n"


def test_repair_puts_back_and_says_so(move: Move, kernel: FakeKernel, said: list[str]):
    move()
    words = ("--repair", "--syslog", "--log", "log", "--textfile", "numatune.prom", "--notify", catching("told"))
    assert typed("check", *words) == Typed(0, "", "", "")
    assert kernel.files[SWAPPINESS].strip() == "10"
    assert [line.partition(": ")[2] for line in said] == ["put back sysctl:vm.swappiness: 60 -> 10"]
    assert "sysctl:vm.swappiness  10 -> 60; put back to 10" in Path("log").read_text()
    assert (metric("numatune_check_repairs_total"), metric("numatune_drift_differences")) == ("1", "0")
    assert not Path("told").exists()
    kernel.put(SWAPPINESS, "70\n")
    typed("check", *words)
    assert metric("numatune_check_repairs_total") == "2"
    assert typed("check", *words) == Typed(0, "", "", "")
    assert metric("numatune_check_repairs_total") == "2"


def test_without_an_output_a_repair_is_printed(move: Move):
    move()
    told = typed("check", "--repair")
    assert (told.code, "put back to 10" in told.out) == (0, True)


def test_a_command_gets_the_drift_and_only_when_there_is_one(move: Move):
    words = ("check", "--notify", catching("it is told"))
    assert typed(*words) == Typed(0, "", "", "")
    assert not Path("it is told").exists()
    move()
    assert typed(*words) == Typed(2, "", "", "")
    told = json.loads(Path("it is told").read_text())
    assert [row["id"] for row in told["settings"] if row["counted"]] == ["sysctl:vm.swappiness"]


def test_a_command_is_no_shell_line(move: Move):
    move()
    assert typed("check", "--notify", "sh -c 'exit 0' ; touch made").code == 2
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("./nowhere --x", "./nowhere: No such file or directory"),
        ("sh -c 'echo first; echo no pager >&2; exit 3'", "sh ended with 3: no pager"),
        ("sh -c 'kill -9 $$'", "sh ended with -9"),
        ("sh -c 'sleep 60 & sleep 60'", "sh did not end within 0 s"),
    ],
)
def test_a_command_that_fails_is_said_and_drift_stays_drift(
    command: str, words: str, move: Move, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(outputs, "_NOTIFY_SECONDS", 0 if "sleep" in command else 60)
    move()
    told = typed("check", "--notify", command, "--log", "log")
    assert (told.code, told.out, told.err) == (2, "", f"numatune: --notify: {words}\n")
    assert MOVED in Path("log").read_text()


@pytest.mark.parametrize(
    ("command", "seconds", "words"),
    [
        ("sh -c 'sleep 600 & echo $! > pid'", 60, ""),
        ("sh -c 'setsid sleep 600 & echo $! > pid; sleep 600'", 4, "numatune: --notify: sh did not end within 4 s\n"),
    ],
    ids=["in the background", "in a session of its own"],
)
def test_what_a_command_leaves_running_holds_nobody_up(
    command: str, seconds: int, words: str, move: Move, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("numatune.api.outputs._NOTIFY_SECONDS", seconds)
    move()
    told = typed("check", "--notify", command)
    left = int(Path("pid").read_text())
    try:
        assert (told.code, told.err, Path(f"/proc/{left}").exists()) == (2, words, True)
    finally:
        os.kill(left, signal.SIGKILL)


def test_an_output_that_fails_keeps_no_other_from_being_told(move: Move):
    move()
    told = typed("check", "--log", "none/log", "--textfile", "none/numatune.prom", "--notify", catching("told"))
    assert told.code == 2
    assert told.err.splitlines() == [
        "numatune: none/log: cannot be written: No such file or directory (--log takes a plain file)",
        "numatune: none/numatune.prom: there is no such folder (node_exporter's --collector.textfile.directory)",
    ]
    assert Path("told").exists()
    told = typed("check", "--textfile", "none/numatune.prom", "--differences-ok")
    assert told.code == 1


def test_a_clean_host_that_cannot_be_told_of_is_an_error(move: Move):
    assert move
    assert typed("check", "--textfile", "none/numatune.prom").code == 1


def test_one_at_a_time(move: Move):
    move()
    with lock.held(paths.check(), "check", 0):
        assert typed("check", "--textfile", "numatune.prom") == Typed(0, "", "", "")
        assert typed("check", "-v").err == "numatune: another check is going on, or nothing is left to check\n"
    assert not Path("numatune.prom").exists()
    assert typed("check").code == 2


def test_a_check_does_not_wait_for_an_apply_and_is_none(move: Move):
    move()
    with lock.held(paths.lock(), "apply", 0):
        assert typed("check").code == 2
        told = typed("check", "--repair", "--wait", "0", "--textfile", "numatune.prom")
    assert (told.code, "held by pid" in told.err) == (75, True)
    assert metric("numatune_check_success") == "0"


def test_what_nobody_foresaw_is_told_too(move: Move, monkeypatch: pytest.MonkeyPatch):
    move()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr("numatune.api.drifting.from_stored", broken)
    told = typed("check", "--textfile", "numatune.prom", "--notify", catching("told"))
    assert (told.code, "unexpected ZeroDivisionError: odd" in told.err) == (3, True)
    Path(told.err.partition("the trace is in ")[2].partition(";")[0]).unlink()
    assert metric("numatune_check_success") == "0"
    assert json.loads(Path("told").read_text())["error"]["code"] == 3


def test_the_delay_is_a_part_of_what_was_asked_for(move: Move, monkeypatch: pytest.MonkeyPatch):
    assert move
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    for _ in range(50):
        typed("check", "--delay-up-to", "10m")
    assert all(0 <= seconds < 600 for seconds in slept)
    assert len(set(slept)) > 10
    assert max(slept) > 60


def test_what_is_rolled_back_while_a_check_sleeps_is_not_told(
    move: Move, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    move()
    monkeypatch.setattr("time.sleep", lambda _: Path("state/applied.json").unlink())
    words = ("check", "--delay-up-to", "10m", "--syslog", "--log", "log", "--textfile", "numatune.prom")
    assert typed(*words) == Typed(0, "", "", "")
    assert (said, Path("log").exists(), Path("numatune.prom").exists()) == ([], False, False)


def test_a_check_that_wakes_up_after_numatune_has_gone_ends_quietly(tmp_path: Path):
    shutil.copytree(Path(numatune.__file__).parent, tmp_path / "lib/numatune")
    code = f"""
import shutil, sys, time
sys.path.insert(0, {str(tmp_path / "lib")!r})
time.sleep = lambda _: shutil.rmtree({str(tmp_path / "lib")!r})
from numatune.engine import paths
paths.lock = lambda root="/": {str(tmp_path / "lock")!r}
from numatune.cli.main import main
sys.exit(main(["check", "--delay-up-to", "10m", "--log", {str(tmp_path / "log")!r}]))
"""
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"NUMATUNE_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["check.lock"]


@pytest.mark.parametrize(
    "words",
    [
        ["--delay-up-to", "2d"],
        ["--delay-up-to", "10"],
        ["--textfile", "numatune.txt"],
        ["--notify", ""],
        ["--notify", "'open"],
        ["three.yaml"],
    ],
)
def test_a_wrong_command_line_is_64(words: list[str]):
    assert typed("check", *words).code == 64


def test_the_surface_tells_what_was_found(move: Move, kernel: FakeKernel):
    move()
    checked = api.check(kernel, api.Outputs())
    assert isinstance(checked, checking.Checked)
    assert (checked.found.counted if checked.found else 0, checked.error, checked.troubles) == (1, None, ())


def test_who_may_not_write_beside_the_lock_has_one_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert paths.check() == f"{tmp_path}/numatune-check-4711.lock"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert paths.check() == "/tmp/numatune-check-4711.lock"  # noqa: S108  # opened without following links
