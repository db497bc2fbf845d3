"""Runs of the exported script on plain files: twice, killed anywhere, one set after another, beside somebody else."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.script_tree import inside, lay
from fakes.trees import host_tree

FIRST = """\
name: first
sysctl: {vm.swappiness: 10, vm.stat_interval: ">= 10"}
thp: {defrag: never}
ksm: {sleep_millisecs: 50}
launch: {cpu: exclusive}
"""
SECOND = """\
name: second
sysctl: {vm.swappiness: 5}
"""
SWAPPINESS = "proc/sys/vm/swappiness"
STATE = ("var/lib/numatune-exported", "run/numatune-exported")


@dataclass
class Tuned:
    """A host of plain files, and scripts by name."""

    folder: Path
    scripts: dict[str, Path]

    def run(self, name: str, *argv: str, stop: int = 0) -> subprocess.CompletedProcess[str]:
        """`stop`: the write before which it is killed."""
        return subprocess.run(  # noqa: PLW1510  # some are killed
            ["sh", str(self.scripts[name]), *argv],  # noqa: S607
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "STOP": str(stop)},
        )

    def state(self) -> dict[str, str]:
        """All values, in their short spelling, and whatever was made and left."""
        files = {path for path in self.folder.rglob("*") if path.is_file()}
        texts = {str(path.relative_to(self.folder)): path.read_text(encoding="utf-8") for path in files}
        known = {path: text for path, text in texts.items() if not path.startswith(("run/numatune/", "stubs/"))}
        values = {path: text.partition("[")[2].partition("]")[0] or text.strip() for path, text in known.items()}
        return values | {f"{path}/": "" for path in (self.folder / "etc").rglob("*") if path.is_dir()}


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tuned:
    monkeypatch.chdir(tmp_path)
    kernel = FakeKernel(host_tree())
    lend(kernel, tmp_path, monkeypatch)
    made = Tuned(tmp_path / "host", {})
    for name, text in (("first", FIRST), ("second", SECOND)):
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
        told = json.loads(typed("export", f"{name}.yaml", "--format", "script", "--json").out)
        script = told["files"][0]["text"]
        lay(kernel, made.folder, script)
        counted = "put() {\n    puts=$((${puts:-0} + 1))\n    [ $puts != $STOP ] || kill -KILL $$\n"
        made.scripts[name] = tmp_path / f"{name}.sh"
        made.scripts[name].write_text(inside(script, made.folder).replace("put() {\n", counted), encoding="utf-8")
    stub = made.folder / "stubs/id"
    stub.write_text("#!/bin/sh\necho 0\n", encoding="utf-8")
    stub.chmod(0o755)
    return made


def test_the_second_apply_changes_nothing_and_keeps_the_originals(tuned: Tuned) -> None:
    before = tuned.state()
    first = tuned.run("first", "apply")
    assert (first.stderr, first.returncode) == ("", 0)
    assert tuned.state()[SWAPPINESS] == "10"
    assert tuned.run("first", "apply").stdout == "changed: 0, differ: 0\n"
    assert tuned.run("first", "rollback").returncode == 0
    assert tuned.state() == before


@pytest.mark.parametrize("stop", range(1, 5))
def test_a_run_that_was_killed_before_any_write_is_taken_back(stop: int, tuned: Tuned) -> None:
    before = tuned.state()
    assert tuned.run("first", "apply", stop=stop).returncode == -9
    assert tuned.run("first", "rollback").returncode == 0
    assert tuned.state() == before


def test_what_a_kernel_made_of_a_value_is_ours_also_in_a_run_that_was_killed(tuned: Tuned) -> None:
    """hugepages and others may hold less than was asked for."""
    before = tuned.state()
    script = tuned.scripts["first"]
    text = script.read_text(encoding="utf-8")
    clamps = """cat >"$2"; case $2 in *swappiness) echo 9 >"$2" ;; esac; }"""
    script.write_text(text.replace("""cat >"$2"; }""", clamps), encoding="utf-8")
    assert tuned.run("first", "apply", stop=4).returncode == -9
    assert tuned.state()[SWAPPINESS] == "9"
    script.write_text(text, encoding="utf-8")
    assert tuned.run("first", "rollback").returncode == 0
    assert tuned.state() == before


def test_an_original_that_found_no_room_is_kept_by_the_next_run(tuned: Tuned) -> None:
    before = tuned.state()
    script = tuned.scripts["first"]
    text = script.read_text(encoding="utf-8")
    full = 'printf() { [ "$mode:${2:-}" != "save:60" ] || return 1; command printf "$@"; }\n'
    script.write_text(text.replace("umask 022\n", f"umask 022\n{full}"), encoding="utf-8")
    done = tuned.run("first", "apply")
    assert (done.returncode, "cannot write to" in done.stderr) == (1, True)
    assert tuned.state()[SWAPPINESS] == before[SWAPPINESS]
    script.write_text(text, encoding="utf-8")
    assert tuned.run("first", "apply").returncode == 0
    assert tuned.run("first", "rollback").returncode == 0
    assert tuned.state() == before


def stub(tuned: Tuned, name: str, text: str) -> None:
    file = tuned.folder / "stubs" / name
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)


def test_originals_are_on_the_disk_before_the_first_write_and_nothing_is_synced_for_nothing(tuned: Tuned) -> None:
    log = tuned.folder / "stubs/log"
    kept = tuned.folder / "run/numatune-exported/sysctl:vm.swappiness.was"
    stub(tuned, "sync", f"cat {tuned.folder}/{SWAPPINESS} {kept} >>{log}")
    assert tuned.run("first", "apply").returncode == 0
    assert log.read_text(encoding="utf-8") == "60\n60\n"
    assert tuned.run("first", "apply").returncode == 0
    assert log.read_text(encoding="utf-8") == "60\n60\n"


def test_a_lock_of_busybox_is_taken_and_waited_for(tuned: Tuned) -> None:
    """Its flock has no -w, and its -n fails at once."""
    stub(tuned, "flock", '[ "$1" = -n ] || exit 1\n[ -e "$0.freed" ]')
    stub(tuned, "sleep", ': >"${0%/*}/flock.freed"')
    assert tuned.run("first", "apply", "--wait", "0").returncode == 75
    assert tuned.run("first", "apply", "--wait", "soon").returncode == 64
    assert tuned.run("first", "apply", "--wait", "1").returncode == 0


def test_another_set_that_came_first_keeps_its_way_back(tuned: Tuned) -> None:
    kept = tuned.folder / "var/lib/numatune-exported"
    stub(tuned, "flock", f"mkdir -p {kept}\necho other >{kept}/set")
    done = tuned.run("first", "apply")
    assert (done.returncode, "another exported set was applied just now" in done.stderr) == (75, True)
    assert (kept / "set").read_text(encoding="utf-8") == "other\n"


@pytest.mark.parametrize("stop", range(1, 5))
def test_a_rollback_that_was_killed_is_finished_by_the_next(stop: int, tuned: Tuned) -> None:
    before = tuned.state()
    assert tuned.run("first", "apply").returncode == 0
    assert tuned.run("first", "rollback", stop=stop).returncode == -9
    assert tuned.run("first", "rollback").returncode == 0
    assert tuned.state() == before


def test_another_set_takes_the_first_ones_place(tuned: Tuned) -> None:
    before = tuned.state()
    assert tuned.run("first", "apply").returncode == 0
    done = tuned.run("second", "apply")
    assert (done.stderr, done.returncode) == ("", 0)
    moved = {path: text for path, text in tuned.state().items() if not path.startswith(STATE) and text != before[path]}
    assert moved == {SWAPPINESS: "5"}
    assert "another exported set" in tuned.run("first", "rollback").stderr
    assert tuned.run("second", "rollback").returncode == 0
    assert tuned.state() == before


def test_what_somebody_has_set_since_is_left_alone(tuned: Tuned) -> None:
    before = tuned.state()
    assert tuned.run("first", "apply").returncode == 0
    (tuned.folder / SWAPPINESS).write_text("33\n", encoding="utf-8")
    back = tuned.run("first", "rollback")
    assert back.returncode == 2
    assert "sysctl:vm.swappiness: left as it is, 33: somebody set it since" in back.stdout
    left = {path: text for path, text in tuned.state().items() if not path.startswith(STATE)}
    assert left == before | {SWAPPINESS: "33"}


def test_a_part_is_applied_alone_and_a_rollback_takes_all(tuned: Tuned) -> None:
    before = tuned.state()
    assert tuned.run("first", "apply", "--only", "sysctl").returncode == 0
    after = {path: text for path, text in tuned.state().items() if not path.startswith(STATE) and text != before[path]}
    assert after == {SWAPPINESS: "10", "proc/sys/vm/stat_interval": "10"}
    # a unit asks for what links reset, of which a set may have one only
    assert tuned.run("first", "reapply", "--only", "sysctl,net_queues").stdout == "changed: 0, differ: 0\n"
    assert tuned.run("first", "rollback", "--only", "sysctl").returncode == 64
    assert tuned.run("first", "rollback").returncode == 0
    assert tuned.state() == before
