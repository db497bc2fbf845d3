"""One run at a time on a host, also across processes, and a dead holder holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numatune.engine import lock, paths
from numatune.errors import LockedError, PrivilegeError

HOLDER = """
import sys
from numatune.engine import lock
with lock.held(sys.argv[1], "apply llm"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holding(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_one_is_told_who_holds_it(tmp_path: Path):
    path = tmp_path / "run" / "lock"
    with holding(path) as process:
        with (
            pytest.raises(LockedError, match=rf"held by pid {process.pid} \(apply llm\)") as raised,
            lock.held(str(path), "rollback", wait=0),
        ):
            pass
        assert raised.value.exit_code == 75
        assert lock.holder(str(path)) == f"pid {process.pid} (apply llm)"
        process.communicate("")
    with lock.held(str(path), "rollback", wait=0):
        assert lock.holder(str(path)) == f"pid {os.getpid()} (rollback)"
    assert lock.holder(str(path)) == ""


def test_a_second_one_waits_until_the_first_is_done(tmp_path: Path):
    path = tmp_path / "lock"
    process = holding(path)
    waiting = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.communicate("")
    out, _ = waiting.communicate("", timeout=60)
    assert out == "held\n"


def test_a_killed_holder_holds_nothing(tmp_path: Path):
    path = tmp_path / "lock"
    process = holding(path)
    process.kill()
    process.communicate()
    with lock.held(str(path), "rollback", wait=0):
        pass


def test_nobody_holds_what_is_not_there(tmp_path: Path):
    assert lock.holder(str(tmp_path / "none")) == ""


def test_a_child_does_not_keep_the_lock(tmp_path: Path):
    path = tmp_path / "lock"
    with lock.held(str(path), "apply"):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with lock.held(str(path), "rollback", wait=0):
        pass
    child.communicate(b"\n")


def test_without_rights_it_says_that_root_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: object, **kwargs: object) -> int:  # noqa: ARG001
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lock.os, "open", refuse)
    with pytest.raises(PrivilegeError, match="needs root"), lock.held(str(tmp_path / "lock"), "apply"):
        pass


def test_the_lock_is_the_hosts_wherever_the_state_is(monkeypatch: pytest.MonkeyPatch):
    assert (paths.state(), paths.lock()) == ("/var/lib/numatune", "/run/numatune/lock")
    assert (paths.state("/host"), paths.lock("/host")) == ("/host/var/lib/numatune", "/host/run/numatune/lock")
    monkeypatch.setenv("NUMATUNE_STATE_DIR", "/srv/numatune")
    assert (paths.state("/host"), paths.lock("/host")) == ("/srv/numatune", "/host/run/numatune/lock")
    assert paths.runs(paths.state()) == "/srv/numatune/runs"
