"""`numatune verify` in a folder and an environment that somebody else prepared for whoever runs pytest there."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.process import NUMATUNE, process

pytestmark = pytest.mark.live  # others' writes would be seen

Profile = Callable[..., str]


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder full of what pytest picks up, an environment that names it, and what each leaves when it runs."""
    folder = tmp_path / "trap"
    (folder / "testinfra").mkdir(parents=True)
    leave = f"import pathlib; pathlib.Path({str(tmp_path / 'sprung')!r}).touch()\n"
    for name in ("conftest.py", "evil.py", "_pytest.py", "testinfra/__init__.py", "test_evil.py", "sysctl.py"):
        (folder / name).write_text(leave, encoding="ascii")
    for name, text in {
        "pytest.ini": "[pytest]\naddopts = -p evil --co\n",
        "tox.ini": "[pytest]\naddopts = -p evil\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
        "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
    }.items():
        (folder / name).write_text(text, encoding="ascii")
    return folder, {
        "PYTHONPATH": str(folder),
        "PYTEST_ADDOPTS": "-p evil --collect-only",
        "PYTEST_PLUGINS": "evil",
    }


@pytest.mark.parametrize(("off", "code"), [(0, 0), (1, 2)])
def test_nothing_that_lies_there_is_run(
    off: int, code: int, trap: tuple[Path, dict[str, str]], profile: Profile, tmp_path: Path
):
    folder, environment = trap
    value = int(Path("/proc/sys/vm/swappiness").read_text(encoding="ascii")) ^ off
    path = profile(f"name: asked\nsysctl: {{vm.swappiness: {value}}}\n")
    state = {"NUMATUNE_STATE_DIR": str(tmp_path / "state")}
    done = process([*NUMATUNE, "verify", path], cwd=folder, env={**environment, **state})
    assert done.code == code, done
    assert ("drifted" in done.out) == bool(code)
    assert not (tmp_path / "sprung").exists()


def test_the_trap_springs_for_who_runs_pytest_there(trap: tuple[Path, dict[str, str]], tmp_path: Path):
    folder, environment = trap
    (folder / "_pytest.py").unlink()
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LD_LIBRARY_PATH"}}
    with contextlib.suppress(AssertionError):  # the trap breaks pytest, which is none of its business here
        process([sys.executable, "-m", "pytest", "-q"], cwd=folder, env={**kept, **environment})
    assert (tmp_path / "sprung").exists()
