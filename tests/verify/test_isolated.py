"""Nobody else's code runs with the checks. Each planted file would leave a mark; a control shows that it can."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from numatune.errors import HostError, NumatuneError
from numatune.settings.codecs import Int, Text
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Status
from numatune.settings.targets import KernelFile, Nothing
from numatune.verify import isolated
from numatune.verify.isolated import checks_for


def sysctl(key: str, want: str, **more: object) -> Setting:
    known = {"codec": Int(), "phase": Phase.SYSCTL, "section": "sysctl", **more}
    path = f"/proc/sys/{key.replace('.', '/')}"
    return Setting(id=SettingId(f"sysctl:{key}"), target=KernelFile((path,)), want=want, **known)  # type: ignore[arg-type]


NEVER = sysctl("vm.swappiness", "77777")
"""Beyond what the kernel takes: drift on every host."""
ALWAYS = sysctl("vm.swappiness", "0", codec=Int(op=">="))


@pytest.fixture
def planted(tmp_path: Path) -> dict[str, str]:
    """An environment and a folder in which everything that pytest, Python and sh would pick up is somebody else's."""
    mark = tmp_path / "marks"
    mark.mkdir()
    leave = f"import pathlib; pathlib.Path({str(mark)!r}, __name__.replace('.', '_')).touch()\n"
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in ("evil", "sitecustomize", "usercustomize", "testinfra"):
        (modules / f"{name}.py").write_text(leave)
    for name in ("conftest.py", "pytest.py", "json.py", "numatune.py"):
        (tmp_path / name).write_text(leave)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p evil\n")
    (tmp_path / "tox.ini").write_text("[pytest]\naddopts = -p evil\n")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-p evil'\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sysctl", "cat", "uname", "find", "stat"):
        (programs / name).write_text(f"#!/bin/sh\ntouch {mark}/{name}\necho 77777\n")
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": f"{modules}:{tmp_path}",
        "PYTHONSTARTUP": str(modules / "evil.py"),
        "PYTEST_ADDOPTS": "-p evil --collect-only",
        "PYTEST_PLUGINS": "evil",
        "BASH_ENV": str(programs / "cat"),
        "ENV": str(programs / "cat"),
        "BASH_FUNC_cat%%": f"() {{ touch {mark}/function; echo 77777; }}",
    }


def marks(folder: Path) -> set[str]:
    return {path.name for path in (folder / "marks").iterdir()}


def test_nothing_that_is_planted_runs(planted: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)  # TMPDIR is read anew: the private folder lies below the planted ones
    monkeypatch.chdir(tmp_path)
    said = checks_for([NEVER])
    assert [verdict.status for verdict in said] == [Status.DRIFTED]
    assert marks(tmp_path) == set()
    left = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in left if name.startswith("numatune-verify")]


@pytest.mark.parametrize("how", ["conftest", "ini", "addopts", "plugins", "path", "program"])
def test_each_of_them_would_run_without_isolation(how: str, planted: dict[str, str], tmp_path: Path):
    """The control: the same files, one way in at a time, and pytest as anybody starts it."""
    check = tmp_path / "test_it.py"
    run = "import subprocess\ndef test_it(): subprocess.run(['sysctl'], check=False)\n"
    check.write_text(run if how == "program" else "def test_it(): pass\n")
    ways = {"addopts": "PYTEST_ADDOPTS", "plugins": "PYTEST_PLUGINS", "path": "PYTHONPATH", "program": "PATH"}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "modules")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if how in {"conftest", "program", "path"}:
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
    if how in ways:
        environment[ways[how]] = planted[ways[how]]
    (tmp_path / "pytest.py").unlink()
    (tmp_path / "json.py").unlink()
    command = (sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(check))
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    left = {"conftest": "conftest", "path": "sitecustomize", "program": "sysctl"}
    assert left.get(how, "evil") in marks(tmp_path)


def test_the_child_sees_no_variable_of_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x")
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    given = isolated.environment(tmp_path)
    assert set(given) == {"PATH", "LC_ALL", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    assert given["LC_ALL"] == "C"


def test_settings_lie_where_only_the_caller_reads_them(monkeypatch: pytest.MonkeyPatch):
    modes: list[int] = []

    def look(argv: object, folder: Path, seconds: int) -> tuple[int, str]:  # noqa: ARG001  # as the real one
        modes.extend(path.stat().st_mode & 0o777 for path in (folder, folder / "settings.json"))
        return 0, ""

    monkeypatch.setattr(isolated, "_run", look)
    with pytest.raises(RuntimeError):  # no verdicts came back
        checks_for([ALWAYS])
    assert modes == [0o700, 0o600]


def test_one_verdict_for_each_setting_that_wants_something():
    nothing = Setting(
        id=SettingId("irq:none"),
        target=Nothing("not-applicable", "no such card"),
        codec=Text(),
        want="",
        phase=Phase.IRQ,
        section="irq",
    )
    watched = replace(sysctl("vm.min_free_kbytes", "1"), want=None)
    companion = sysctl("vm.overcommit_memory", "77777")
    both = replace(NEVER, companions=(companion, watched))
    said = checks_for([nothing, both, sysctl("vm.no_such_key", "1")])
    assert [(verdict.id, verdict.status) for verdict in said] == [
        ("irq:none", Status.NOT_APPLICABLE),
        ("sysctl:vm.swappiness", Status.DRIFTED),
        ("sysctl:vm.overcommit_memory", Status.DRIFTED),
        ("sysctl:vm.no_such_key", Status.UNSUPPORTED),
    ]


def test_nothing_wanted_starts_no_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(isolated, "_run", pytest.fail)
    assert checks_for([replace(ALWAYS, want=None)]) == ()


def test_junit_counts_what_counts(tmp_path: Path):
    optional = replace(sysctl("vm.overcommit_memory", "77777"), optional=True)
    checks_for([ALWAYS, optional, sysctl("vm.no_such_key", "1")], junit=tmp_path / "verify.xml")
    suite = next(ET.parse(tmp_path / "verify.xml").iter("testsuite"))  # noqa: S314  # our own file
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failed = next(case for case in suite if case.find("failure") is not None)
    assert "vm.no_such_key" in str(failed.get("name"))
    told = {one.get("name"): one.get("value") for one in suite[0].iter("property")}
    assert (told["status"], told["wanted"]) == ("ok", ">= 0")


def test_a_junit_file_without_a_place_is_one_message(tmp_path: Path):
    with pytest.raises(NumatuneError, match="No such file or directory"):
        checks_for([ALWAYS], junit=tmp_path / "nowhere" / "verify.xml")


def test_a_host_that_does_not_answer_is_one_message(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(isolated, "command", lambda *_: ("/bin/sh", "-c", "sleep 600 & sleep 600"))
    monkeypatch.setattr(isolated, "_SECONDS", 0)
    monkeypatch.setattr(isolated, "_SECONDS_EACH", 0)
    with pytest.raises(HostError, match="did not end within"):
        checks_for([ALWAYS])


def test_a_check_that_breaks_is_never_taken_for_one_that_holds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(isolated, "command", lambda *_: ("/bin/sh", "-c", "echo as pytest says"))
    with pytest.raises(RuntimeError, match="as pytest says"):
        checks_for([ALWAYS])


def test_the_parent_imports_no_pytest():
    code = "import sys; from numatune.verify import isolated; print({'pytest', 'testinfra'} & set(sys.modules))"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
