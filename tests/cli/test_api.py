"""The one stable surface: every name is there, and is told to type checkers as it is found."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from fakes.trees import host_tree, memory

from numatune import api
from numatune.errors import HostError, PrivilegeError, UsageError


def test_every_name_is_there() -> None:
    for name in api.__all__:
        assert callable(getattr(api, name))


def test_what_type_checkers_see_is_what_is_found() -> None:
    tree = ast.parse(Path(str(api.__file__)).read_text(encoding="utf-8"))
    told = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told - {"annotations", "import_module", "TYPE_CHECKING"} == set(api.__all__)


def test_no_module_of_the_api_is_called_like_a_function() -> None:
    modules = {path.stem for path in Path(str(api.__file__)).parent.glob("*.py")}
    assert not modules & set(api.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tune'"):
        _ = api.tune


def test_a_captured_tree_is_for_reading(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert not api.open_reader(str(tmp_path)).live
    with pytest.raises(UsageError, match="--root-is-live"):
        api.open_host(str(tmp_path))


def test_a_folder_that_is_the_tree_of_a_live_host_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    reader, host = api.open_reader(str(tmp_path), live=True), api.open_host(str(tmp_path), live=True)
    assert reader.live
    assert host.root == os.path.realpath(tmp_path)
    with pytest.raises(HostError, match="no folder"):
        api.open_host(str(tmp_path / "missing"), live=True)


def test_changes_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(PrivilegeError):
        api.open_host()


def test_a_plan_of_a_captured_host_needs_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "never"))
    (tmp_path / "a.yaml").write_text("name: a\nsysctl: {vm.swappiness: '{{ vars.much }}'}\nvars: {much: 5}\n")
    reader = memory(host_tree(nodes=2))
    made = api.plan(reader, api.Request(profiles=(str(tmp_path / "a.yaml"),), variables={"much": "7"}))
    assert [(row.setting.id, row.setting.want) for row in made.rows] == [("sysctl:vm.swappiness", "7")]
    assert made.host.nodes == "0-1"
    assert not (tmp_path / "never").exists()
