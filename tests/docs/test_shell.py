"""Blocks ```sh of the pages that teach: what is not played on a stand-in for a kernel is run by bash, or named here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
BACK = DOCS / "howto" / "take-everything-back.md"
SERVER = DOCS / "howto" / "pin-vllm-workers.md"

ELSEWHERE: Mapping[str, str] = {
    "numatune capture --host ssh://root@gpu7 gpu7.tar.xz": "tests/capture/test_ssh.py",
    "make wheelhouse PYTHON=3.12": "tests/ansible/test_wheelhouse.py",
    "ansible-playbook -i inventory.yml tune.yml --check --diff": "tests/ansible/test_role.py",
    "ansible-playbook -i inventory.yml tune.yml": "tests/ansible/test_role.py",
}
"""What needs other hosts or another Python, and the tests that do it."""


def lines(page: Path) -> list[str]:
    """The commands of a page's blocks ```sh, without what is remarked behind them."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+#.*", "", line) for block in blocks for line in block.splitlines() if line]


def test_each_command_is_run_by_a_test() -> None:
    here = {line for page in (TUTORIAL, BACK, SERVER) for line in lines(page)}
    shown = {line for page in (TUTORIAL, *(DOCS / "howto").glob("*.md")) for line in lines(page)}
    assert shown == here | set(ELSEWHERE)
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


def test_what_is_installed_by_the_tutorial_is_taken_away_by_the_howto(tmp_path: Path) -> None:
    """With a folder for /, and without sudo."""
    (tmp_path / "usr/local/bin").mkdir(parents=True)
    (tmp_path / "usr/local/lib").mkdir()
    bash(tmp_path, *lines(TUTORIAL), "numatune --version", "complete -p numatune", path=tmp_path / "usr/local/bin")
    bash(tmp_path, *lines(BACK))
    assert not [left for left in tmp_path.rglob("*") if not left.is_dir() or "numatune" in left.name]


@pytest.mark.usefixtures("applied_nothing")
def test_the_server_of_the_howto_gets_its_words_untouched(tmp_path: Path) -> None:
    """vLLM is a stand-in that tells what it was started with."""
    server = tmp_path / "vllm"
    server.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    server.chmod(0o755)
    (tmp_path / "numatune").symlink_to(Path(sys.executable).with_name("numatune"))
    told = bash(tmp_path, *lines(SERVER), path=tmp_path)
    assert told.splitlines()[-1].startswith("serve MODEL --tensor-parallel-size 4")


@pytest.fixture
def applied_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))


def bash(root: Path, *commands: str, path: Path | None = None) -> str:
    """What they print, the first of them that fails ends them."""
    plain = [re.sub(r"(?<![\w/])/(?=usr/local|var/lib)", f"{root}/", one.removeprefix("sudo ")) for one in commands]
    way = f"PATH={path}:$PATH\n" if path else ""
    script = "set -euo pipefail\n" + way + "\n".join(plain)
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
