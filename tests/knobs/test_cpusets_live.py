"""cgroup v1 on the kernel of this machine: made, narrowed with a task inside, given back; all removed at the end."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.road import Road, actions

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.host.local import LocalHost
from numatune.settings.plan import Action, Status
from numatune.topology.model import Cgroups, Section

NAME = f"numatune-test-{os.getpid()}"

pytestmark = pytest.mark.live


@pytest.fixture
def trees() -> Iterator[Cgroups]:
    """The v1 trees of this machine, without our groups before and after."""
    found = discover(LocalHost(), {Section.CGROUPS}).cgroups
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if found.version != 1 or not os.access(found.cpuset_root, os.W_OK):
        pytest.skip(f"cpuset is no writable v1 tree here (mode {found.mode}, version {found.version})")
    yield found
    for root in filter(None, {found.cpuset_root, found.memory_root}):
        for folder in sorted(Path(root, NAME).rglob("*"), reverse=True):
            if folder.is_dir():
                folder.rmdir()
        with contextlib.suppress(FileNotFoundError):
            Path(root, NAME).rmdir()


@pytest.fixture
def sleeper() -> Iterator[int]:
    process = subprocess.Popen(["/bin/sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def shape(cpus: CpuSet, *, limit: bool) -> str:
    inner = str(cpus.first)
    memory = ", memory_max: 8G" if limit else ""
    return (
        f"cpusets:\n  {NAME}: {{cpus: '{cpus}', mems: '0'{memory}}}\n  {NAME}/decode: {{cpus: '{inner}', mems: '0'}}\n"
    )


def status_of(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(field))


def test_groups_are_made_and_taken_away_again(trees: Cgroups, tmp_path: Path):
    host = LocalHost()
    online = discover(host, ()).cpus.online
    road = Road(host, tmp_path)
    text = shape(online, limit=trees.memory_version == 1)
    try:
        first = road.plan(text)
        outcomes = road.apply(first)
        assert {sid: came.reason for sid, came in outcomes.items() if came.status is not Status.OK} == {}
        inner = Path(trees.cpuset_root, NAME, "decode")
        assert CpuSet.parse((inner / "cpuset.effective_cpus").read_text()) == CpuSet([online.first])
        if trees.memory_version == 1:
            limit = Path(trees.memory_root, NAME, "memory.limit_in_bytes").read_text()
            assert int(limit) == 8 << 30
        assert actions(road.plan(text)) == {Action.NONE}
    finally:
        assert road.rollback() == ()
    assert not Path(trees.cpuset_root, NAME).exists()
    assert not Path(trees.memory_root, NAME).exists()


def test_a_task_inside_is_named_narrowed_with_leave_and_given_its_cpus_back(
    trees: Cgroups, sleeper: int, tmp_path: Path
):
    host = LocalHost()
    online = discover(host, ()).cpus.online
    if len(online) == 1:
        pytest.skip("one CPU cannot be narrowed")
    group = Path(trees.cpuset_root, NAME)
    home = Path(trees.cpuset_root, "cgroup.procs")
    group.mkdir()
    (group / "cpuset.mems").write_text("0")
    (group / "cpuset.cpus").write_text(str(online))
    (group / "cgroup.procs").write_text(str(sleeper))
    road = Road(host, tmp_path)
    text = f"cpusets: {{{NAME}: {{cpus: '{online.first}', mems: '0'}}}}"
    try:
        (row,) = [row for sid, row in road.plan(text).items() if sid.endswith("/cpus")]
        assert (row.action, row.impact.value) == (Action.NONE, "disrupts")
        assert f"({sleeper} sleep)" in row.reason
        road.apply(road.plan(text, allow_disruption=True))
        assert CpuSet.parse(status_of(sleeper, "Cpus_allowed_list")) == CpuSet([online.first])
        assert road.rollback() == ()
        assert CpuSet.parse(status_of(sleeper, "Cpus_allowed_list")) == online
    finally:
        home.write_text(str(sleeper))


def test_the_kernel_refuses_as_the_fake_one_does(trees: Cgroups):
    host = LocalHost()
    online = discover(host, ()).cpus.online
    group = f"{trees.cpuset_root}/{NAME}"
    assert host.make(group) == 0
    assert host.make(group) == errno.EEXIST
    assert host.write(f"{group}/cpuset.mems", "0") == 0
    assert host.write(f"{group}/cpuset.cpus", str(online.first)) == 0
    assert host.make(f"{group}/inner") == 0
    assert host.write(f"{group}/inner/cpuset.cpus", str(online.first)) == 0
    if len(online) > 1:
        assert host.write(f"{group}/inner/cpuset.cpus", str(online.last)) == errno.EACCES
    assert host.write(f"{group}/cpuset.cpus", "\n") in {errno.EBUSY, errno.EACCES}
    assert host.write(f"{group}/cpuset.cpus", "60000") == errno.ERANGE
    assert host.write(f"{group}/cpuset.cpus", "3-1") == errno.EINVAL
    assert host.drop(group) == errno.EBUSY
    assert host.write(f"{trees.cpuset_root}/cpuset.cpus", str(online)) == errno.EACCES
    assert host.drop(f"{group}/inner") == 0
    assert host.drop(group) == 0
