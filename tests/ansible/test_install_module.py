"""The module numatune_install on folders: what an earlier task has put under other names."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import standing
from fakes.kills import in_files

if TYPE_CHECKING:
    from types import ModuleType

    from playing import Json


class Task(standing.Task):
    """Programs of numatune answer with the version that is asked for."""

    def run_command(self, argv: list[str], **_: Any) -> tuple[int, str, str]:
        return 0, f"{argv[0]} {self.params['version']}", ""


class Host:
    """Prefixes and links below a folder, with versions that are built already."""

    def __init__(self, module: ModuleType, folder: Path) -> None:
        self._module, self.folder = module, folder

    def installation(self, *, check: bool = False, **params: str) -> Any:
        wanted = {
            "state": "present",
            "version": "2",
            "digest": "",
            "python": "",
            "prefix": "opt",
            "link": "bin/numatune",
        }
        wanted |= params
        wanted |= {name: str(self.folder / wanted[name]) for name in ("prefix", "link")}
        return self._module.Installation(Task(wanted, check=check))

    def put(self, *, check: bool = False, **params: str) -> Json:
        """What a task says that wants a version, "2" where none is named."""
        one = self.installation(check=check, **params)
        for version in ("1", "2"):
            folder = one.versions / version
            (folder / "bin").mkdir(parents=True, exist_ok=True)
            (folder / "bin/numatune").touch(0o755)
            (folder / ".numatune.json").write_text(json.dumps({"version": version, "digest": "", "asked": ""}))
        told: Json = one.put()
        return {**told, "warnings": one.module.warnings}

    def take_away(self, **params: str) -> Json:
        one = self.installation(**params)
        told: Json = one.take_away()
        return {**told, "warnings": one.module.warnings}

    def links(self) -> dict[str, str]:
        """Every symlink, by its path, with what it leads to."""
        paths = [path for path in self.folder.rglob("*") if path.is_symlink()]
        return {
            str(path.relative_to(self.folder)): str(path.readlink()).replace(f"{self.folder}/", "") for path in paths
        }


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    module = standing.load("numatune_install", monkeypatch)
    monkeypatch.setattr(module, "NOTED", tmp_path / "state/installed.json")
    return Host(module, tmp_path)


def test_a_link_that_has_another_name_now_goes_and_that_is_said(host: Host) -> None:
    host.put()
    foreseen = host.put(check=True, link="sbin/tune")
    assert host.links() == {"opt/current": "versions/2", "bin/numatune": "opt/current/bin/numatune"}
    told = host.put(link="sbin/tune")
    old, new = (f"{host.folder}/{name}" for name in ("bin/numatune", "sbin/tune"))
    assert told["warnings"] == [f"{old} is taken away: what calls numatune by it has to call {new} now"]
    assert foreseen["warnings"] == told["warnings"]
    assert host.links() == {"opt/current": "versions/2", "sbin/tune": "opt/current/bin/numatune"}
    again = host.put(link="sbin/tune")
    assert (again["changed"], again["warnings"]) == (False, [])


def test_a_link_that_somebody_has_switched_stays(host: Host) -> None:
    host.put()
    (host.folder / "bin/numatune").unlink()
    (host.folder / "bin/numatune").symlink_to("theirs")
    assert host.put(link="sbin/tune")["warnings"] == []
    assert host.take_away(link="sbin/tune")["warnings"] == []
    assert host.links() == {"bin/numatune": "theirs"}


def test_another_prefix_is_told_until_it_is_taken_away(host: Host) -> None:
    host.put()
    for check in (True, False, False):
        assert host.put(check=check, prefix="srv", link="sbin/tune")["moved_from"] == f"{host.folder}/opt"
    assert host.links()["bin/numatune"] == "opt/current/bin/numatune", "a boot may call it"
    told = host.take_away(link="sbin/tune")
    assert (told["changed"], len(told["warnings"])) == (True, 1)
    assert told["warnings"][0].endswith(f"has to call {host.folder}/sbin/tune now")
    assert host.links() == {"srv/current": "versions/2", "sbin/tune": "srv/current/bin/numatune"}
    assert not (host.folder / "opt").exists()
    assert host.put(prefix="srv", link="sbin/tune")["moved_from"] == ""


def test_a_prefix_that_holds_none_is_not_taken_for_the_one_that_does(host: Host) -> None:
    host.put()
    with pytest.raises(Exception, match=f"below {host.folder}/opt, not below {host.folder}/srv: name that prefix"):
        host.take_away(prefix="srv")


def test_the_way_back_is_told_by_the_task_that_switches(host: Host) -> None:
    assert host.put(version="1")["back"] == ""
    told = host.put(version="2")
    assert (told["previous"], told["back"]) == ("1", f"ln -sfn versions/1 {host.folder}/opt/current")
    assert host.put(version="2")["back"] == ""


def test_what_killed_tasks_left_goes_with_the_next_one_or_with_numatune(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for left in count():
        for after in (host.put, host.take_away):
            with in_files(left, monkeypatch) as one:
                host.put()
            after()
            assert set(host.links()) == ({"opt/current", "bin/numatune"} if after == host.put else set())
        host.take_away()
        assert {path.name for path in host.folder.iterdir()} <= {"bin", "state"}
        assert list((host.folder / "state").glob("*.json")) == []
        if not one.died:
            assert left > 2
            return
