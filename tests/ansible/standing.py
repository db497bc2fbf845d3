"""A module of the role without Ansible: loaded by its path, over a stand-in for Ansible's own half."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import variables

if TYPE_CHECKING:
    import pytest
    from playing import Json


class Ended(Exception):  # noqa: N818  # no error: a module always ends so
    """The task's result."""

    def __init__(self, **result: Any) -> None:
        super().__init__()
        self.result: Json = result


class Task:
    """Of AnsibleModule what the module uses."""

    def __init__(self, params: Json, *, check: bool) -> None:
        self.params, self.check_mode = params, check
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def exit_json(self, **result: Any) -> None:
        raise Ended(warnings=self.warnings, **result)

    def fail_json(self, **result: Any) -> None:
        raise Ended(failed=True, warnings=self.warnings, **result)

    def get_bin_path(self, name: str) -> str:
        return f"/usr/bin/{name}"

    def run_command(self, argv: list[str], **_: Any) -> tuple[int, str, str]:
        """Nothing here runs one; tests that need it put their own."""
        raise NotImplementedError(argv)


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of that name."""
    basic = ModuleType("ansible.module_utils.basic")
    basic.AnsibleModule = Task  # type: ignore[attr-defined]
    for package in ("ansible", "ansible.module_utils"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setitem(sys.modules, basic.__name__, basic)
    spec = importlib.util.spec_from_file_location(name, variables.ROLE / "library" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
