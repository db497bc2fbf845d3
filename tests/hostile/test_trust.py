"""Files that somebody else could have written are neither read as ours nor run, and said so in one line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.machine import Machine
from fakes.process import Ended, numatune

Profile = Callable[..., str]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="what root trusts: needs root")

TEXT = "sysctl: {vm.swappiness: 61}\n"


def refused(done: Ended, path: Path | str, why: str) -> None:
    """Exit 1 with one line that names the file; lint, which lists mistakes, tells it on stdout."""
    said = done.out or done.err
    assert (done.code, bool(done.out and done.err)) == (1, False), done
    assert str(path) in said.splitlines()[0]
    assert why in said.splitlines()[0]


@pytest.mark.parametrize(
    ("command", "planted"),
    [
        *((("apply", "--yes"), how) for how in ("mode 0666", "somebody's", "in somebody's folder", "a link to it")),
        *((command, "mode 0664") for command in (("plan",), ("drift",), ("verify",), ("profiles", "lint"))),
    ],
)
def test_a_profile_that_others_can_write(command: tuple[str, ...], planted: str, profile: Profile, tmp_path: Path):
    path = Path(profile(f"name: asked\n{TEXT}"))
    named, why = plant(path, planted)
    done = numatune(*command, str(named), state=tmp_path / "state")
    refused(done, path, why)
    assert not (tmp_path / "state").exists()


def plant(path: Path, how: str) -> tuple[Path, str]:
    """Make a file one that others could write. Where to name it, and what must be said."""
    match how:
        case "somebody's":
            os.chown(path, 65534, 65534)
            return path, "belongs to user 65534"
        case "in somebody's folder":
            os.chown(path.parent, 65534, 65534)
            return path, "belongs to user 65534"
        case "a link to it":
            path.chmod(0o666)
            link = path.parent / "link.yaml"
            link.symlink_to(path)
            return link, "can be written by others"
        case _:
            path.chmod(int(how.removeprefix("mode "), 8))
            return path, "can be written by others"


def test_a_base_that_others_can_write(profile: Profile, tmp_path: Path):
    base = Path(profile(f"name: base\n{TEXT}", "base"))
    path = profile("name: asked\nextends: ./base.yaml\n")
    base.chmod(0o646)
    refused(numatune("plan", path, state=tmp_path / "state"), base, "can be written by others")


def test_a_sticky_folder_is_fine(profile: Profile, tmp_path: Path):
    path = profile(f"name: asked\n{TEXT}")
    tmp_path.chmod(0o1777)
    assert numatune("plan", path, state=tmp_path / "state").code in {0, 2}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.put_back()


@pytest.mark.live
def test_state_that_others_can_write_is_not_believed(machine: Machine):
    path, second = machine.profile(TEXT), machine.profile("sysctl: {vm.swappiness: 62}\n", "second")
    assert machine.numatune("apply", path, "--yes").code == 0
    assert machine.numatune("plan", path, "--out", "saved.plan").code == 0
    assert machine.numatune("hold", "--all", "--for", "1h", "--why", "a test").code == 0
    state, moved = machine.state, machine.moved()
    for name, commands in {
        "runs/000001.jsonl": (("rollback", "--yes"), ("rollback", "--check"), ("history",)),
        "applied.json": (("drift",), ("drift", "--repair"), ("verify",), ("apply", path, "--yes")),
        "holds.json": (("drift",), ("drift", "--repair")),
        "../saved.plan": (("apply", "--plan", "saved.plan", "--yes"),),
        "runs": (("rollback", "--yes"), ("apply", second, "--yes")),
    }.items():
        planted = state / name
        mode = planted.stat().st_mode
        for command in commands:
            planted.chmod(mode | 0o022)
            done = machine.numatune(*command)
            planted.chmod(mode)
            assert done.code == 1, (name, command, done)
            assert "can be written by others" in done.err, (name, command, done)
            assert machine.moved() == moved, (name, command)
    assert machine.numatune("unhold", "--all").code == 0
    assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {}


@pytest.mark.live
def test_a_state_folder_that_is_a_link_into_somebodys_is_not_written(machine: Machine, tmp_path: Path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    machine.state.symlink_to(theirs)
    for command in (("apply", machine.profile(TEXT), "--yes"), ("rollback", "--yes"), ("hold", "--all", "--for", "1h")):
        done = machine.numatune(*command)
        assert done.code in {0, 1}
        assert list(theirs.iterdir()) == []
        if command[0] == "apply":
            assert (done.code, len(done.lines)) == (1, 1)
            assert "belongs to user 65534" in done.err
    assert machine.moved() == {}


@pytest.mark.live
@pytest.mark.parametrize("name", ["runs/000001.jsonl", "applied.json"])
def test_a_file_of_a_newer_numatune_is_refused_by_name(machine: Machine, name: str):
    path = machine.profile(TEXT)
    assert machine.numatune("apply", path, "--yes").code == 0
    moved, file = machine.moved(), machine.state / name
    text = file.read_text()
    newer = re.sub(r'"format":\d+', '"format":99', text, count=1)
    assert newer != text
    file.write_text(newer)
    done = machine.numatune("rollback", "--yes") if name.startswith("runs") else machine.numatune("drift")
    assert (done.code, len(done.lines)) == (1, 1), done
    assert file.name in done.err
    assert "99" in done.err
    assert machine.moved() == moved
    file.write_text(text)
    assert machine.numatune("rollback", "--yes").code == 0


BROKEN = (
    ("applied.json", "{", ("drift", "verify", "apply")),
    ("applied.json", "", ("drift", "verify", "apply")),
    ("applied.json", '{"format":1,"numatune":"0","holds":{"@":"Nonsense"}}', ("drift", "verify", "apply")),
    ("holds.json", "[]", ("drift", "apply")),
    ("confirm.json", "{}", ("apply", "rollback")),
    ("witness.json", "{}", ()),
    ("runs/000001.before.json", "{}", ("rollback",)),
    ("runs/000001.jsonl", "nonsense\n", ("apply", "rollback")),
    ("runs/000001.jsonl", '{"@":"RunStart"}\n', ("apply", "rollback")),
)


@pytest.mark.live
def test_a_broken_file_is_named_in_one_line_before_anything_is_written(machine: Machine):
    path, second = machine.profile(TEXT), machine.profile("sysctl: {vm.swappiness: 62}\n", "second")
    assert machine.numatune("apply", path, "--yes").code == 0
    moved = machine.moved()
    words = {"drift": (), "verify": (), "apply": (second, "--yes"), "rollback": ("--yes",)}
    for name, text, stopped in BROKEN:
        file = machine.state / name
        kept = file.read_text() if file.exists() else None
        file.write_text(text)
        file.chmod(0o644)
        for command in stopped:
            done = machine.numatune(command, *words[command])
            assert (done.code, len(done.lines)) == (1, 1), (name, command, done)
            assert str(file) in done.err
            assert machine.moved() == moved
        if kept is None:
            file.unlink()
        else:
            file.write_text(kept)
    for name in ("applied.json", "holds.json", "witness.json"):
        (machine.state / name).write_text("broken")
    assert machine.numatune("rollback", "--yes").code == 0, "what only tells of the host stops no rollback"
    assert machine.moved() == {}
