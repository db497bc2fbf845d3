"""A state folder on a disk that is full: apply touches nothing, a rollback works, whatever was there before."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.machine import Machine
from fakes.process import can_mount

pytestmark = [pytest.mark.live, pytest.mark.skipif(not can_mount(), reason="needs root and the right to mount")]

PAGE = os.sysconf("SC_PAGESIZE")
PAGES = 128
FIRST = "sysctl: {vm.swappiness: 61}\n"
SECOND = "sysctl: {vm.swappiness: 62, vm.stat_interval: 3}\n"
LONG = "".join(
    f"  {key}: {{value: '>= 1', why: {'x' * 1500}}}\n"
    for key in (
        "vm.max_map_count",
        "vm.stat_interval",
        "vm.watermark_scale_factor",
        "vm.watermark_boost_factor",
        "kernel.threads-max",
    )
)
"""Settings that no apply has to write and every stored set has to hold."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system for the state."""
    folder = tmp_path / "state"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={PAGES * PAGE},mode=0755", "none", folder], check=True)  # noqa: S607  # as of the shell
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # noqa: S607  # as above


@pytest.fixture
def machine(disk: Path) -> Iterator[Machine]:
    made = Machine(disk.parent)
    yield made
    made.put_back()


def fill(disk: Path, free: int = 0) -> None:
    """Leave so many pages."""
    (disk / "filled").unlink(missing_ok=True)
    left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize // PAGE
    with (disk / "filled").open("wb") as file:
        file.write(bytes(PAGE * max(0, left - free)))


def test_without_room_nothing_is_touched_and_with_it_everything_is_kept(machine: Machine, disk: Path):
    path = machine.profile(f"sysctl:\n  vm.swappiness: 61\n{LONG}")
    refused = 0
    for free in range(0, PAGES, 6):
        fill(disk, free)
        done = machine.numatune("apply", path, "--yes")
        if done.code == 0:
            break
        refused += 1
        assert (done.code, len(done.lines)) == (1, 1), done
        assert "No space left on device" in done.err
        assert "nothing was changed" in done.err or "make room" in done.err
        assert machine.moved() == {}
        assert machine.runs() == []
        assert "No runs" in machine.numatune("history").out
    assert refused > 1
    assert list(machine.moved()) == ["/proc/sys/vm/swappiness"]
    assert machine.numatune("drift").code == 0
    fill(disk)
    assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {}


def test_runs_come_back_one_by_one_on_a_full_disk(machine: Machine, disk: Path):
    first, second = machine.profile(FIRST, "first"), machine.profile(SECOND, "second")
    for path in (first, second):
        assert machine.numatune("apply", path, "--yes").code == 0
    fill(disk)
    assert machine.numatune("apply", first, "--yes").code == 1
    assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {"/proc/sys/vm/swappiness": f"{machine.before['/proc/sys/vm/swappiness'].strip()} -> 61"}
    fill(disk)
    drifted = machine.numatune("drift", "--json")
    assert (drifted.code, drifted.json["profile"]) == (0, "first")
    assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {}
