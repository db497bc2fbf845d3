"""Completion, asked of the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes import terminal
from fakes.commands import typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two

from numatune.cli import tree, values
from numatune.cli.commands import COMMANDS
from numatune.cli.completion import SHELLS

PROGRAMS = Path(sys.executable).parent
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "completion/cases.yaml").read_text("utf-8"))


@pytest.fixture
def env(kernel: FakeKernel, tmp_path: Path) -> dict[str, str]:  # noqa: ARG001  # what applies to it is kept
    """A shell's environment on a host with two runs, one profile of its own, and one in the working directory."""
    if not (PROGRAMS / "numatune").exists():
        pytest.skip("numatune is not installed beside this Python")
    assert typed("apply", "three.yaml", "--yes").code == 0
    assert typed("apply", "three.yaml", "other.yaml", "--yes").code == 0
    here = tmp_path / "here"
    here.mkdir()
    (here / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/many-hosts.yaml").write_text("name: many-hosts\n", encoding="utf-8")
    return {
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "NUMATUNE_STATE_DIR": str(tmp_path / "state"),
        "NUMATUNE_PROFILES_DIR": str(tmp_path / "etc"),
    }


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


def test_every_shell_offers_what_can_stand_there(shell: str, env: dict[str, str], tmp_path: Path) -> None:
    wrong = []
    with terminal.Shell(shell, tmp_path / "here", env) as session:
        offered = [session.candidates(case["line"]) for case in CASES]
    for case, found in zip(CASES, offered, strict=True):
        told = [word for word in found if shell != "fish" or word.startswith(case["line"].rpartition(" ")[2])]
        right = (
            ("is" not in case or sorted(told) == sorted(case["is"]))
            and set(case.get("has", ())) <= set(told)
            and not set(case.get("lacks", ())) & set(told)
        )
        wrong += [] if right else [f"{case} but {told}"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("shell", terminal.SHELLS, indirect=True)
def test_a_tab_ends_a_word_at_a_colon_and_at_an_equals_sign(shell: str, env: dict[str, str], tmp_path: Path) -> None:
    expected = {
        "numatune app": "numatune apply ",
        "numatune hold sysctl:vm.sw": "numatune hold sysctl:vm.swappiness ",
        "numatune apply --on-error=r": "numatune apply --on-error=rollback ",
        "numatune --root=mi": "numatune --root=mine.yaml ",
    }
    with terminal.Shell(shell, tmp_path / "here", env) as session:
        assert {line: session.typed(line) for line in expected} == expected


def test_fish_tells_what_a_word_means(env: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    argv = ["fish", "--no-config", "-c", terminal.FISH, "numatune rollback --run "]
    ran = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=tmp_path, check=True)
    assert "2\tapply three other" in ran.stdout


def test_what_cannot_be_read_is_no_error_in_mid_line(shell: str, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "state/applied.json").write_text("no JSON", encoding="utf-8")
    with terminal.Shell(shell, tmp_path / "here", env) as session:
        assert session.candidates("numatune hold x") == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_metavar_is_known_to_completion(name: str) -> None:
    """A new one has words, or stands for a file, or is one for which nobody can know any: a line in cli/values.py."""

    def told(command: tree.Command) -> set[str]:
        open_ones = {one.metavar for one in command.arguments if one.metavar and not one.choices}
        return open_ones.union(*map(told, command.actions))

    words = {"MODE", "WORD", "WORD,..."} if name in {"run", "place"} else set()
    assert told(tree.command(name)) <= {*values.LISTS, *values.FILES, *values.UNKNOWN, *words}


def test_shellcheck_finds_nothing() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    script = Path(tree.__file__).parent / "shells/numatune.bash"
    ran = subprocess.run(["shellcheck", "--shell=bash", script], capture_output=True, text=True, check=False)  # noqa: S607  # the one in the PATH
    assert not ran.stdout
