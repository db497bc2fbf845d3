"""The program `numatune` as it is installed: a shell's first line, then Python isolated from the caller's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "numatune/start.sh"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """It, in an environment that has the packages of the one that the tests run in."""
    home = tmp_path / "venv"
    (home / "bin").mkdir(parents=True)
    shutil.copy(SCRIPT, home / "bin/numatune")
    (home / "bin/python3").symlink_to(os.path.realpath(sys.executable))
    (home / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    packages = home / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (packages / "there.pth").write_text(f"{ROOT}\n{sysconfig.get_paths()['purelib']}\n")
    return home / "bin/numatune"


def ran(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PWD": "/", **environment}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env, cwd="/")


def test_it_is_executable_and_in_the_wheel():
    assert os.access(SCRIPT, os.X_OK)
    assert '"numatune/start.sh" = "numatune"' in (ROOT / "pyproject.toml").read_text()


def test_it_starts_by_its_path_by_a_link_and_by_its_name(program: Path, tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(program)
    for call in (str(program), str(link)):
        assert ran(call, "--version").stdout.startswith("numatune ")
    assert ran("numatune", "--version", PATH=f"{program.parent}:/usr/bin:/bin").stdout.startswith("numatune ")


def test_a_conda_servers_python_variables_break_nothing_and_reach_the_command(program: Path, tmp_path: Path):
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')\n")
    (tmp_path / "numatune.py").write_text("raise SystemExit('hostile')\n")
    theirs = {"PYTHONHOME": "/nope", "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": "/nope"}
    done = ran(str(program), "run", "--quiet", "--", "env", **theirs)
    assert (done.returncode, done.stderr) == (0, "")
    assert {f"{name}={text}" for name, text in theirs.items()} <= set(done.stdout.splitlines())


def test_arguments_and_exit_codes_pass_through_the_shell_untouched(program: Path):
    words = ["a b", "$HOME", "`true`", "", "--", "*", "'", '"', "\\", "new\nline"]
    done = ran(str(program), "run", "--quiet", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert done.stdout == f"{words}\n"
    assert ran(str(program), "run", "--quiet", "--", "sh", "-c", "exit 7").returncode == 7
    assert ran(str(program), "nonsense").returncode == 64


def test_the_name_that_it_was_called_by_is_kept(program: Path):
    """A boot unit calls numatune by the path by which apply was called."""
    code = "import sys; from numatune.api import persisting; print(persisting._called())"
    (program.parent / "probe").write_text(f"import sys\nsys.argv[0] = {str(program)!r}\n{code}\n")
    done = ran(str(program.parent / "python3"), "-I", str(program.parent / "probe"))
    assert done.stdout == f"('{program}',)\n", done.stderr


def test_without_a_python_beside_it_the_paths_one_is_taken(program: Path, tmp_path: Path):
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(SCRIPT, alone / "numatune")
    done = ran(str(alone / "numatune"), "--version", PATH=f"{program.parent}:/usr/bin:/bin")
    assert done.stdout.startswith("numatune ")
