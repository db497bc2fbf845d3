"""On this machine's kernel, through the real command: confirm, drift, repair, and what a quick drift loads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from fakes.process import AS_NOBODY, no_nobody

from numatune.engine import lock, paths, store
from numatune.settings.applied import Waiting

SWAPPINESS = Path("/proc/sys/vm/swappiness")
RATIO = Path("/proc/sys/vm/dirty_background_ratio")

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="writes to the kernel: needs root"),
    pytest.mark.skipif(not os.access(SWAPPINESS, os.W_OK), reason="/proc/sys is read-only here"),
]


class Shell:
    """Commands with a state folder of their own, and the values that were there before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = {path: path.read_text().strip() for path in (SWAPPINESS, RATIO)}
        self.wanted = "11" if self.before[SWAPPINESS] != "11" else "12"
        text = f"name: mine\nsysctl: {{vm.swappiness: {self.wanted}, vm.dirty_background_ratio: 6}}\n"
        (folder / "mine.yaml").write_text(text, encoding="utf-8")

    def run(self, *words: str, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "NUMATUNE_STATE_DIR": str(self.folder / "state"), "NO_COLOR": "1"}
        argv = (*prefix, sys.executable, "-m", "numatune", *words)
        return subprocess.run(argv, env=env, text=True, capture_output=True, check=False, timeout=120)

    def apply(self, *words: str) -> None:
        done = self.run("apply", str(self.folder / "mine.yaml"), "--yes", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert self.held() == self.wanted

    def held(self) -> str:
        return SWAPPINESS.read_text().strip()

    def waiting(self) -> Waiting | None:
        return store.load(str(self.folder / "state" / "confirm.json"), Waiting)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    waiting = made.waiting()
    if waiting and waiting.pid and _alive(waiting):
        os.kill(waiting.pid, signal.SIGKILL)
    for path, text in made.before.items():
        if path.read_text().strip() != text:
            path.write_text(text)


def _alive(waiting: Waiting) -> bool:
    try:
        fields = Path(f"/proc/{waiting.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[19] == waiting.started and fields[0] not in {"Z", "X"}


def until(met: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not met() and time.monotonic() < end:
        time.sleep(0.1)
    return met()


def test_what_nobody_confirms_is_taken_back(shell: Shell) -> None:
    shell.apply("--confirm-within", "5s")
    assert until(lambda: shell.held() == shell.before[SWAPPINESS])
    waiting = shell.waiting()
    assert waiting is not None
    assert until(lambda: not _alive(waiting))
    assert RATIO.read_text().strip() == shell.before[RATIO]
    late = shell.run("confirm")
    assert late.returncode == 1
    assert "run 1: was rolled back" in late.stderr
    assert shell.run("drift").returncode == 1


def test_what_is_confirmed_in_time_is_kept(shell: Shell) -> None:
    shell.apply("--confirm-within", "10s")
    waiting = shell.waiting()
    assert waiting is not None
    done = shell.run("confirm")
    assert (done.returncode, done.stdout) == (0, "Run 1 is kept.\n")
    assert not _alive(waiting)
    time.sleep(10.5)
    assert shell.held() == shell.wanted
    assert shell.run("rollback", "--yes").returncode == 0
    assert shell.held() == shell.before[SWAPPINESS]


def test_while_a_run_waits_no_other_is_begun(shell: Shell) -> None:
    shell.apply("--confirm-within", "1h")
    refused = shell.run("apply", str(shell.folder / "mine.yaml"), "--yes")
    assert refused.returncode == 1
    assert "run 1 waits to be confirmed" in refused.stderr
    assert shell.run("rollback", "--yes").returncode == 0
    waiting = shell.waiting()
    assert waiting is not None
    assert not _alive(waiting)
    assert shell.held() == shell.before[SWAPPINESS]


def test_a_rollback_whose_time_has_come_waits_for_who_holds_the_lock(shell: Shell) -> None:
    shell.apply("--confirm-within", "5s")
    with lock.held(paths.lock(), "a test"):
        time.sleep(7)
        assert shell.held() == shell.wanted
    assert until(lambda: shell.held() == shell.before[SWAPPINESS])
    waiting = shell.waiting()
    assert waiting is not None
    assert until(lambda: not _alive(waiting))


def test_a_killed_shell_does_not_take_the_wait_with_it(shell: Shell) -> None:
    done = shell.run("apply", str(shell.folder / "mine.yaml"), "--yes", "--confirm-within", "5s", prefix=("setsid",))
    assert done.returncode == 0
    waiting = shell.waiting()
    assert waiting is not None
    os.kill(waiting.pid, signal.SIGHUP)
    assert until(lambda: shell.held() == shell.before[SWAPPINESS])
    assert until(lambda: not _alive(waiting))


def test_drift_is_quiet_tells_and_puts_back(shell: Shell) -> None:
    shell.apply()
    clean = shell.run("drift")
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")
    SWAPPINESS.write_text("77")
    found = shell.run("drift", "--json")
    assert found.returncode == 2
    rows = {row["id"]: row for row in json.loads(found.stdout)["settings"]}
    assert (rows["sysctl:vm.swappiness"]["letters"], rows["sysctl:vm.swappiness"]["current"]) == ("MM", "77")
    assert rows["sysctl:vm.dirty_background_ratio"]["letters"] == "  "
    back = shell.run("drift", "--repair")
    assert (back.returncode, shell.held()) == (0, shell.wanted)
    assert f"put back to {shell.wanted}" in back.stdout
    assert shell.run("rollback", "--yes").returncode == 0
    assert shell.held() == shell.before[SWAPPINESS]


@pytest.mark.skipif(bool(no_nobody()), reason=no_nobody())
def test_drift_needs_no_root_and_repair_does(shell: Shell) -> None:
    shell.apply()
    for folder in (shell.folder, *shell.folder.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            if not str(folder).startswith("/tmp/pytest-"):  # noqa: S108  # pytest's own folders are private
                pytest.skip(f"{folder} is not readable for others")
            folder.chmod(0o755)
    prefix = AS_NOBODY
    clean = shell.run("drift", prefix=prefix)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")
    SWAPPINESS.write_text("77")
    assert shell.run("drift", prefix=prefix).stdout.startswith("MM sysctl:vm.swappiness")
    refused = shell.run("drift", "--repair", prefix=prefix)
    assert (refused.returncode, shell.held()) == (1, "77")
    assert "needs root" in refused.stderr


def test_a_new_process_gives_back_what_another_one_applied(shell: Shell) -> None:
    """Asked of a one-shot tuner since 2019: redhat-performance/tuned#195."""
    shell.apply()
    done = shell.run("rollback", "--yes")
    assert (done.returncode, shell.held()) == (0, shell.before[SWAPPINESS])
    assert RATIO.read_text().strip() == shell.before[RATIO]


def test_nothing_runs_on_and_nothing_is_taken_back_when_the_command_ends(shell: Shell) -> None:
    """A daemon that rolls back as it exits was an outage (tuned#416), and one that stays costs CPU (tuned#386)."""
    shell.apply()
    mark = f"NUMATUNE_STATE_DIR={shell.folder / 'state'}".encode()
    assert [folder for folder in Path("/proc").glob("[0-9]*") if mark in _environ(folder)] == []
    assert shell.held() == shell.wanted


def _environ(folder: Path) -> bytes:
    try:
        return (folder / "environ").read_bytes()
    except OSError:
        return b""


HEAVY = {"pydantic", "jinja2", "yaml", "rich", "pytest", "testinfra", "numatune.profile", "numatune.knobs"}


@pytest.mark.parametrize(
    ("words", "besides"),
    [(["drift"], {"numatune.settings", "numatune.engine.runs"}), (["drift", "-v"], set()), (["hold"], set())],
)
def test_a_check_by_cron_loads_little(shell: Shell, words: list[str], besides: set[str]) -> None:
    shell.apply()
    code = (
        "import sys; from numatune.cli.main import main; code = main(sys.argv[1:]);"
        "print(code, *sys.modules, file=sys.stderr)"
    )
    env = {**os.environ, "NUMATUNE_STATE_DIR": str(shell.folder / "state")}
    argv = (sys.executable, "-c", code, *words)
    done = subprocess.run(argv, env=env, text=True, capture_output=True, check=True, timeout=60)
    code_, *modules = done.stderr.split()
    assert code_ == "0"
    assert not (HEAVY | besides) & set(modules)
