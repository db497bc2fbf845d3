"""The wait for confirm: with a real process that waits, and with a systemd that is only asked."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.kernel import Behaviour, FakeKernel

from numatune.compat import override
from numatune.engine import confirm, store
from numatune.errors import NumatuneError
from numatune.host.protocol import Ran
from numatune.settings.applied import Waiting
from numatune.settings.journal import RunStart

START = RunStart(7, "apply", "2026-01-01T00:00:00Z", "alice", 1, "boot")
HOUR = 3600
SOON = 3


class Systemd(Behaviour):
    """Process 1 is systemd: it takes timers and says which of its units wait."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.units: set[str] = set()
        self.asked: list[tuple[str, ...]] = []

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        self.asked.append(argv)
        match argv:
            case ("systemd-run", *rest):
                self.units |= {f"{word.partition('=')[2]}.timer" for word in rest if word.startswith("--unit=")}
                return Ran(self.code, "", "no bus\n" if self.code else "")
            case ("systemctl", "is-active", "--quiet", name):
                return Ran(0 if name in self.units else 3)
            case ("systemctl", "stop", *names):
                unknown = [name for name in names if name not in self.units]
                self.units -= set(names)
                return (
                    Ran(5, "", f"Failed to stop {unknown[0]}: Unit {unknown[0]} not loaded.\n") if unknown else Ran(0)
                )
            case _:
                return None


def host(systemd: Systemd | None = None) -> FakeKernel:
    tree = {"/run/systemd/system/": ""} if systemd else {"/run/": ""}
    return FakeKernel(tree, behaviours=(systemd,) if systemd else ())


def until(met: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not met() and time.monotonic() < end:
        time.sleep(0.05)
    return met()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """Where the wait is stored; what still waits at the end is ended."""
    file = tmp_path / "confirm.json"
    yield str(file)
    waiting = store.load(str(file), Waiting)
    if waiting and waiting.pid and alive(waiting.pid):
        os.kill(waiting.pid, signal.SIGKILL)


@pytest.fixture
def undo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the rollback: the file is there once it was run."""
    done = tmp_path / "undone"
    code = f"open({str(done)!r}, 'w').write('x'); print('told')"
    monkeypatch.setattr(confirm, "undo_command", lambda *_: (sys.executable, "-c", code))
    return done


def test_without_confirm_the_run_is_taken_back(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, SOON)
    assert (waiting.run, waiting.method, waiting.who) == (7, "process", "alice")
    assert alive(waiting.pid)
    assert until(undo.exists)
    assert until(lambda: not alive(waiting.pid))
    assert Path(path).with_name("confirm.log").read_text() == "told\n"


def test_confirm_ends_the_wait_and_nothing_is_taken_back(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, HOUR)
    assert confirm.disarm(path, host(), waiting)
    assert not alive(waiting.pid)
    assert confirm.waits(path, "boot") is None
    assert not undo.exists()


def test_a_process_that_waits_is_nobodys_child_and_holds_no_terminal(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, HOUR)
    assert not undo.exists()
    fields = Path(f"/proc/{waiting.pid}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[3]) != os.getsid(0)
    assert int(fields[1]) != os.getpid()
    links = {str(Path(f"/proc/{waiting.pid}/fd/{fd}").readlink()) for fd in (0, 1, 2)}
    assert links == {"/dev/null", str(Path(path).with_name("confirm.log"))}
    confirm.disarm(path, host(), waiting)


def test_a_wait_whose_record_is_gone_takes_nothing_back(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, SOON)
    Path(path).unlink()
    assert until(lambda: not alive(waiting.pid))
    assert not undo.exists()


def test_a_wait_whose_record_is_about_another_wait_takes_nothing_back(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, SOON)
    other = confirm.arm(path, host(), START, HOUR)
    assert until(lambda: not alive(waiting.pid))
    assert not undo.exists()
    confirm.disarm(path, host(), other)


def test_a_wait_whose_record_cannot_be_read_takes_the_run_back(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, SOON)
    Path(path).write_text("{", encoding="utf-8")
    assert until(undo.exists)
    assert until(lambda: not alive(waiting.pid))
    Path(path).unlink()


def test_another_process_that_has_the_number_by_now_is_left_alone(path: str) -> None:
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    try:
        forged = Waiting(7, "2026-01-01T00:10:00Z", "alice", "boot", "process", pid=pid, started="1")
        assert not confirm.disarm(path, host(), forged)
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_reboot_ends_every_wait(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, HOUR)
    assert confirm.waits(path, "boot") == waiting
    assert confirm.waits(path, "another boot") is None
    assert not undo.exists()
    confirm.disarm(path, host(), waiting)


def test_systemd_waits_where_it_is_process_1(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMATUNE_STATE_DIR", "/srv/state")
    systemd = Systemd()
    machine = host(systemd)
    waiting = confirm.arm(path, machine, START, 600)
    assert (waiting.method, waiting.unit, waiting.pid) == ("systemd", "numatune-confirm-7", 0)
    run = systemd.asked[0]
    assert "--on-active=600s" in run
    assert "--setenv=NUMATUNE_STATE_DIR=/srv/state" in run
    assert run[run.index("--") + 1 :] == confirm.undo_command(machine, 7)
    assert confirm.disarm(path, machine, waiting)
    assert systemd.units == set()
    assert not confirm.disarm(path, machine, waiting)


def test_a_rollback_that_systemd_started_does_not_stop_itself(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    systemd = Systemd()
    waiting = confirm.arm(path, host(systemd), START, 600)
    assert f"--setenv=NUMATUNE_CONFIRM_UNIT={waiting.unit}" in systemd.asked[0]
    systemd.units.add("numatune-confirm-7.service")
    monkeypatch.setenv("NUMATUNE_CONFIRM_UNIT", waiting.unit)
    confirm.taken_back(path, host(systemd), waiting)
    assert systemd.units == {"numatune-confirm-7.service"}


def test_what_was_taken_back_waits_no_more_and_is_remembered(path: str, undo: Path) -> None:
    waiting = confirm.arm(path, host(), START, HOUR)
    confirm.taken_back(path, host(), waiting)
    assert not alive(waiting.pid)
    assert confirm.waits(path, "boot") is None
    over = confirm.last(path, "boot")
    assert over is not None
    assert (over.run, bool(over.undone)) == (7, True)
    assert not undo.exists()


def test_a_timer_that_cannot_start_is_an_error_before_anything_is_written(path: str) -> None:
    with pytest.raises(NumatuneError, match="no bus"):
        confirm.arm(path, host(Systemd(code=1)), START, 600)
    assert not Path(path).exists()


def test_a_log_that_cannot_be_opened_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(NumatuneError, match="no timer could be started"):
        confirm.arm(str(tmp_path / "absent" / "confirm.json"), host(), START, 600)


def test_the_rollback_is_this_numatune_with_this_root() -> None:
    words = confirm.undo_command(host(), 7)
    assert words[:4] == (sys.executable, "-P", "-m", "numatune")
    assert words[4:] == ("rollback", "--run", "7", "--yes", "--wait", "3600")
