"""A merged profile printed as YAML asks for the same as what it was merged from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune import profile
from numatune.discover import discover
from numatune.profile.lookup import shipped_folder
from numatune.profile.spell import spell

CASES = [
    path
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    if "error" not in (case := yaml.safe_load(path.read_text(encoding="utf-8"))) and "profile" in case
]


def asked(name: str, shape: dict[str, object]) -> dict[str, tuple[object, ...]]:
    kernel = FakeKernel(host_tree(**shape))  # type: ignore[arg-type]  # a case's shape
    document = profile.load([name])
    settings = profile.resolve(document, discover(kernel, document.reads)).settings
    return {each.id: (each.want, each.codec, each.why, each.optional, type(each.target)) for each in settings}


@pytest.mark.parametrize("name", sorted(path.stem for path in Path(shipped_folder()).glob("*.yaml")))
def test_a_shipped_profile_survives(name: str, tmp_path: Path) -> None:
    printed = tmp_path / "printed.yaml"
    printed.write_text(spell(profile.load([name])), encoding="utf-8")
    shape: dict[str, object] = {"nodes": 2, "accelerators": 2, "nics": 1, "nvmes": 1}
    assert asked(str(printed), shape) == asked(name, shape)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_survives(path: Path, tmp_path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    written, printed = tmp_path / "written.yaml", tmp_path / "printed.yaml"
    written.write_text(case["profile"], encoding="utf-8")
    printed.write_text(spell(profile.load([str(written)])), encoding="utf-8")
    shape = case.get("host", {})
    assert asked(str(printed), shape) == asked(str(written), shape)


def test_each_line_has_its_source(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("name: base\nsysctl: {vm.swappiness: {value: 1, why: 'a: b'}}\n")
    top = tmp_path / "top.yaml"
    top.write_text("name: top\nextends: ./base.yaml\nwhen: {cpus: 2}\nsysctl:\n  vm.swappiness: {optional: true}\n")
    text = spell(profile.load([str(top)]))
    assert f"name: top  # {top}:1" in text
    assert f"when: {{cpus: 2}}  # {top}:3" in text
    assert f"    value: 1  # {tmp_path}/base.yaml:2" in text
    assert f'    why: "a: b"  # {tmp_path}/base.yaml:2' in text
    assert f"    optional: true  # {top}:5" in text
