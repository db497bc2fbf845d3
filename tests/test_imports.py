"""Start-up is part of the product: what must run in cron, and before a server, loads little. Arrows go one way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {"pydantic", "jinja2", "yaml", "rich", "pytest", "testinfra", "_pytest"}
SLOW_FOR_HELP = {"dataclasses", "inspect", "json", "pathlib", "typing", "subprocess", "tempfile"}

LIST = """
import sys
from numatune.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("\\n" + repr(sorted(sys.modules)))
"""


def loaded(*argv: str, state: Path) -> set[str]:
    """Top-level names of the modules that a command loads, beyond those of a bare interpreter."""
    environment = {**os.environ, "NUMATUNE_STATE_DIR": str(state)}
    ran = subprocess.run(
        [sys.executable, "-c", LIST, *argv], capture_output=True, text=True, env=environment, check=True, cwd=ROOT
    )
    bare = subprocess.run(
        [sys.executable, "-c", "import sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    before = set(json.loads(bare.stdout)) - {"json"}
    return set(eval(ran.stdout.splitlines()[-1])) - before  # noqa: S307  # our own output


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["plan", "--help"], ["rollback", "--help"]])
def test_help_loads_next_to_nothing(argv: list[str], tmp_path: Path) -> None:
    names = loaded(*argv, state=tmp_path)
    assert "argparse" in names
    assert not names & (HEAVY | SLOW_FOR_HELP)


@pytest.mark.parametrize("argv", [["history"], ["rollback", "--yes"], ["drift"], ["check", "--syslog"]])
def test_what_runs_in_cron_loads_the_standard_library_only(argv: list[str], tmp_path: Path) -> None:
    names = loaded(*argv, state=tmp_path)
    assert "numatune.settings.journal" in names
    assert not names & HEAVY


@pytest.mark.parametrize(
    "line", ["apply l", "explain v", "hold s", "plan --only i", "rollback --run ", "place --cpu n"]
)
def test_what_a_shell_asks_in_mid_line_loads_the_standard_library_only(line: str, tmp_path: Path) -> None:
    names = loaded("completion", "--line", f"numatune {line}", "bash", state=tmp_path)
    assert "numatune.cli.values" in names
    assert not names & HEAVY


def test_names_of_profiles_are_told_without_reading_one(tmp_path: Path) -> None:
    names = loaded("completion", "--line", "numatune apply l", "bash", state=tmp_path)
    assert {name for name in names if name.startswith("numatune.profile.")} == {"numatune.profile.lookup"}


def test_help_of_the_whole_imports_no_command(tmp_path: Path) -> None:
    names = {name for name in loaded("--help", state=tmp_path) if name.startswith("numatune.")}
    assert names == {
        "numatune.cli",
        "numatune.cli.commands",
        "numatune.cli.help",
        "numatune.cli.main",
        "numatune.cli.output",
        "numatune.cli.parser",
        "numatune.compat",
    }


def test_arrows_go_one_way() -> None:
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--config", "pyproject.toml"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stdout
