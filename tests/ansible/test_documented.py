"""What is said of the role and its modules in several places is the same everywhere."""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

import pytest
import variables
import yaml

import numatune
from numatune import api
from numatune.cli import parser

MODULES = sorted((variables.ROLE / "library").glob("*.py"))
# Options of `numatune apply` that a task has no use for.
NOT_FOR_TASKS = {
    "check",
    "plan",
    "yes",
    "differences_ok",
    "json",
    "no_color",
    "verbose",
    "root",
    "root_is_live",
    "help",
}
OTHER_NAMES = {"var": "vars"}
EXAMPLES = sorted((variables.CHECKOUT / "docs/examples/fleet/profiles").glob("*.yaml"))


def assigned(path: Path, name: str) -> Any:
    """The value of a constant of a module, without importing it: that would take Ansible."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [target.id for target in node.targets if isinstance(target, ast.Name)] == [
            name
        ]:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path} has no {name}")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_documents_the_arguments_that_it_takes(path: Path) -> None:
    documented = yaml.safe_load(assigned(path, "DOCUMENTATION"))
    told = {
        name: {key: value for key, value in option.items() if key != "description"}
        for name, option in documented["options"].items()
    }
    taken = {
        name: {key: value for key, value in option.items() if key != "no_log"}
        for name, option in assigned(path, "ARGUMENTS").items()
    }
    assert told == taken
    assert documented["module"] == path.stem


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_asks_no_more_of_a_target_than_ansible_does(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    imports = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imports |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imports if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "ansible.module_utils.basic"
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_examples_and_results_are_yaml(path: Path) -> None:
    examples = yaml.safe_load(assigned(path, "EXAMPLES"))
    assert all(path.stem in example for example in examples)
    assert all(
        {"description", "returned", "type"} <= set(told) for told in yaml.safe_load(assigned(path, "RETURN")).values()
    )


def test_defaults_are_those_of_the_specification() -> None:
    defaults = yaml.safe_load((variables.ROLE / "defaults/main.yml").read_text(encoding="utf-8"))
    assert defaults == {name: option["default"] for name, option in variables.options().items()}
    assert all(name.startswith("numatune_") for name in defaults)


def test_the_default_version_is_this_one() -> None:
    assert variables.options()["numatune_version"]["default"] == numatune.__version__


def test_the_page_has_the_table_of_the_variables() -> None:
    assert variables.table() in variables.PAGE.read_text(encoding="utf-8")


def test_every_option_of_apply_is_an_option_of_the_module() -> None:
    spec = assigned(variables.ROLE / "library/numatune_profile.py", "ARGUMENTS")
    options = {OTHER_NAMES.get(name, name) for name in apply_options()} - NOT_FOR_TASKS
    assert options <= set(spec), "hand it on in numatune_profile.py, or name it in NOT_FOR_TASKS"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_profiles_of_the_example_are_profiles(path: Path) -> None:
    api.load([str(path)])


def apply_options() -> set[str]:
    """Names of what `numatune apply` takes."""
    args: argparse.Namespace = parser.parse(["apply", "x"])
    return set(vars(args)) - {"command", "run"}
