"""Machines that stay, without a machine: what a keeper's lock says, and who is ended and who is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import standing
from lab.base import LabError

# Takes the lock of the file that it is told, says so, and stays; deaf to SIGTERM if it is told to be.
KEEPER = """
import fcntl, os, signal, sys, time
lock = open(sys.argv[1], "a")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.truncate(0)
lock.write(str(os.getpid()))
lock.flush()
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(standing, "STANDING", tmp_path)
    return tmp_path


@pytest.fixture(params=["willing", "deaf"])
def keeper(request: pytest.FixtureRequest, home: Path) -> Iterator[subprocess.Popen[str]]:
    (home / "one").mkdir()
    argv = [sys.executable, "-c", KEEPER, str(home / "one" / "keeper"), request.param]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_down_ends_the_keeper_and_leaves_nothing(
    keeper: subprocess.Popen[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "ENDING", 2.0)
    assert standing.standing() == ["one"]
    assert standing.down("one")
    assert keeper.wait(10) < 0
    assert list(home.iterdir()) == []
    assert not standing.down("one")


def test_a_process_that_has_the_id_of_a_keeper_that_is_gone_is_left_alone(home: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "600"]) as other:
        try:
            (home / "one").mkdir()
            (home / "one" / "keeper").write_text(str(other.pid), encoding="ascii")
            assert not standing.down("one")
            assert other.poll() is None
        finally:
            other.kill()


def test_what_a_keeper_left_behind_is_removed(home: Path) -> None:
    (home / "one").mkdir()
    (home / "one" / "machine.json").write_text("{}", encoding="utf-8")
    assert standing.standing() == []
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("keeper", ["willing"], indirect=True)
def test_up_of_a_machine_that_runs_says_where_it_is_and_refuses_another_shape(
    keeper: subprocess.Popen[str], home: Path
) -> None:
    with pytest.raises(LabError, match="being started by somebody else"):
        standing.up("one", "single")
    (home / "one" / "machine.json").write_text('{"shape": "single", "port": 4711}', encoding="utf-8")
    assert standing.up("one", "single") == {"shape": "single", "port": 4711}
    with pytest.raises(LabError, match="one runs, as single"):
        standing.up("one", "nps2")
    assert keeper.poll() is None


@pytest.mark.parametrize(("name", "shape"), [("../one", "single"), ("", "single"), ("one", "round")])
def test_up_refuses_names_and_shapes_that_are_none(name: str, shape: str, home: Path) -> None:
    with pytest.raises(LabError, match="one of the shapes"):
        standing.up(name, shape)
    assert list(home.iterdir()) == []
