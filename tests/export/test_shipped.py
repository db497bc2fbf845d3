"""Shipped profiles in each format of `export`: lines as `apply --persist` writes them, units as systemd takes them."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import pytest
from fakes.trees import host_tree, memory

from numatune.api import exporting, planning
from numatune.export.tuning import script
from numatune.export.tuning.formats import FORMATS
from numatune.export.tuning.model import Exported
from numatune.profile.lookup import shipped_folder
from numatune.profile.tree import Branch
from numatune.settings.persisted import SYSCTL_D, TMPFILES_D, UNITS
from numatune.settings.targets import OwnedFile

NAMES = tuple(sorted(path.stem for path in Path(shipped_folder()).glob("*.yaml")))
HOST = memory(host_tree(nodes=2, cpus_per_node=8, threads=2, nics=1, nvmes=1, accelerators=2, cpufreq="intel_pstate"))
VARIABLES = {"inference_cpus": "4-7", "inference_memory_max": "8G"}
"""What is off as it is shipped, and gives a unit a drop-in."""
TRUE = shutil.which("true") or "/bin/true"

each_profile = pytest.mark.parametrize("name", NAMES)


def request(name: str) -> planning.Request:
    entry = planning.load([name]).tree.entries.get("vars")
    known = entry.node.entries if entry and isinstance(entry.node, Branch) else {}
    chosen = {key: text for key, text in VARIABLES.items() if key in known}
    return planning.Request(profiles=(name,), variables=chosen, persist=True)


@functools.cache
def exported(name: str, target: str) -> Exported:
    return exporting.export(HOST, request(name), target)


@functools.cache
def persisted(name: str) -> dict[str, str]:
    """The files that apply --persist would write, by path."""
    rows = (change.setting for change in planning.plan(HOST, request(name)).changes)
    return {one.target.path: one.want or "" for one in rows if isinstance(one.target, OwnedFile)}


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@each_profile
@pytest.mark.parametrize("target", FORMATS)
def test_it_is_exported(name: str, target: str) -> None:
    made = exported(name, target)
    assert made.files[0].text
    assert all(file.text.endswith("\n") for file in made.files)
    carried, left = set(made.carries), {one.id for one in made.left}
    assert carried
    assert not carried & left


@each_profile
@pytest.mark.parametrize(("target", "path"), [("sysctl.d", SYSCTL_D), ("tmpfiles.d", TMPFILES_D)])
def test_plain_lines_are_those_that_persist(name: str, target: str, path: str) -> None:
    kept = lines(persisted(name).get(path, ""))
    assert lines(exported(name, target).files[0].text) == kept
    tree = {file.path: file.text for file in exported(name, "systemd").files}
    assert lines(tree.get(path, "")) == kept
    assert kept


@each_profile
def test_systemd_finds_nothing_wrong_with_its_units(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    units = [file for file in exported(name, "systemd").files if file.path.startswith(f"{UNITS}/")]
    assert units
    for unit in units:
        path = tmp_path / unit.path.removeprefix(f"{UNITS}/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(unit.text.replace(script.PATH, TRUE), encoding="utf-8")
    names = sorted({path.name.removesuffix(".d") for path in tmp_path.iterdir()})
    ran = subprocess.run(
        [program, "verify", "--man=no", "--recursive-errors=no", *names],
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if "numatune" in line]) == (0, [])
