"""Each complaint of rows.yaml has a test that exists, and runs where that file is collected."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

TESTS = Path(__file__).parents[1]
ROWS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("rows.yaml").read_text(encoding="utf-8"))
LATER = {"launcher", "export", "Ansible"}


@lru_cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def runner_of(case: Path) -> Path:
    """The test that runs every file below cases/."""
    folder = next(folder for folder in case.parents if folder.name == "cases").parent
    return folder / ("test_judge.py" if folder.name == "verify" else "test_cases.py")


@pytest.mark.parametrize("row", ROWS)
def test_a_complaint_has_its_tests(row: str):
    found = ROWS[row]
    if isinstance(found, dict):
        assert set(found) == {"later"}
        assert found["later"] in LATER
        return
    assert found
    for name in found:
        path, _, function = name.partition("::")
        file = TESTS / path
        if path.endswith(".yaml"):
            assert file.is_file(), name
            assert runner_of(file).is_file(), name
        else:
            assert file.name.startswith("test_"), name
            assert function.startswith("test_"), name
            assert function in functions(file), name


def test_no_complaint_is_there_twice():
    text = Path(__file__).with_name("rows.yaml").read_text(encoding="utf-8")
    keys = [line for line in text.splitlines() if line.startswith('"')]
    assert len(keys) == len(ROWS) > 50
