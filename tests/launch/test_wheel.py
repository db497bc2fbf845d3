"""``numatune run`` from a wheel that was just built, in an environment that has nothing but the standard library."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from launch.test_run import CPUS, ROOT

WORDS = ["a b", "$HOME", "`true`", "", "--", "*", "'", '"', "\\", "new\nline"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    if built.returncode:
        pytest.skip(f"no wheel can be built here: {built.stderr.strip().splitlines()[-1:]}")
    (wheel,) = folder.glob("numatune-*.whl")
    home = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    target = ["--python", str(home / "bin/python")]
    subprocess.run([*pip, *target, "install", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    return home / "bin/numatune"


def ran(
    program: Path, *argv: str, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """It, as a conda server would start it: with another Python's home and folders."""
    given = {"PATH": os.environ["PATH"], "PYTHONHOME": "/nope", "PYTHONPATH": "/nope", **(env or {})}
    command = [str(program), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=given, cwd="/", input=stdin)


def test_a_conda_servers_variables_break_nothing_and_reach_the_command(program: Path, tmp_path: Path):
    for name in ("numatune", "os", "errno"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hostile')\n")
    done = ran(program, "run", "--", "env", env={"PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": "/nope"})
    assert (done.returncode, done.stderr) == (0, "")
    found = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    assert {"PYTHONHOME": "/nope", "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": "/nope"}.items() <= found.items()
    assert found["NUMATUNE_PLACEMENT"].startswith("1 ")


def test_arguments_input_and_exit_code_are_the_commands(program: Path):
    done = ran(program, "run", "--", "sh", "-c", 'printf "%s|" "$@"; cat; exit 7', "sh", *WORDS, stdin="in put")
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{'|'.join(WORDS)}|in put", "")


def test_it_takes_the_place_of_the_program_and_its_signals(program: Path):
    assert ran(program, "run", "--", "sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL
    env = {"PATH": os.environ["PATH"], "PYTHONHOME": "/nope"}
    with subprocess.Popen(
        [str(program), "run", "--", "sh", "-c", "echo $$"], stdout=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout
        assert int(process.stdout.read()) == process.pid


def test_what_cannot_be_executed(program: Path):
    done = ran(program, "run", "--", "no-such-command")
    assert (done.returncode, done.stderr) == (127, "numatune: no-such-command: No such file or directory\n")
    done = ran(program, "run", "--", "/etc/passwd")
    assert (done.returncode, done.stderr) == (126, "numatune: /etc/passwd: Permission denied\n")
    assert ran(program, "run", "--bogus", "--", "true").returncode == 64


def test_it_fails_open(program: Path, tmp_path: Path):
    """Without YAML no profile can be read: an error of our own."""
    profile = tmp_path / "asked.yaml"
    profile.write_text("name: asked\nlaunch: {cpu: exclusive}\n")
    affinity = ("sh", "-c", "grep Cpus_allowed_list /proc/self/status")
    done = ran(program, "run", "--profile", str(profile), "--", *affinity)
    before = next(line for line in Path("/proc/self/status").read_text().splitlines() if "Cpus_allowed_list" in line)
    assert (done.returncode, done.stdout) == (0, f"{before}\n")
    assert done.stderr.startswith("numatune: unexpected ModuleNotFoundError")
    assert done.stderr.endswith("starts unbound\n")
    done = ran(program, "run", "--strict", "--profile", str(profile), "--", *affinity)
    assert (done.returncode, done.stdout) == (125, "")


def test_it_binds(program: Path):
    done = ran(program, "run", "--cpus", str(CPUS[-1]), "--", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert done.stdout.split()[-1] == str(CPUS[-1])
    assert ran(program, "run", "--print", "--json").returncode == 0
