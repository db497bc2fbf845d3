"""``run --shm interleave``: the policy of a container's own /dev/shm, in namespaces of the test's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.process import can_mount
from launch.hosts import shaped
from launch.test_run import NODE, ROOT, numatune

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch import shm_mount, wording
from numatune.launch.model import Placement, Process
from numatune.launch.placement import place
from numatune.launch.policy import Policy
from numatune.launch.ranks import Rank

OWN = ("--mount", "--ipc", "--propagation", "private")
HOSTS = ("--mount", "--propagation", "private")
"""Without an IPC namespace of its own it is as under --ipc=host."""

CODE = """
import sys
from numatune.cpus import CpuSet
from numatune.launch import shm_mount
shm_mount.interleave(CpuSet.parse(sys.argv[1]), print, strict="strict" in sys.argv)
print([line.split(" - ")[1].split()[2] for line in open("/proc/self/mountinfo") if line.split()[4] == "/dev/shm"][-1])
"""


@pytest.fixture
def root() -> None:
    if not can_mount():
        pytest.skip("needs root, unshare and the right to mount")


def inside(namespaces: Sequence[str], mount: str, *argv: str, first: Sequence[str] = ()) -> str:
    """What CODE prints where `mount` has been done."""
    script = f'{mount}; shift; exec "$@"'
    python = [*first, sys.executable, "-c", CODE, *argv]
    command = ["/usr/bin/unshare", *namespaces, "sh", "-euc", script, "sh", "-", *python]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if ran.returncode and ran.stderr.startswith("mount:"):
        pytest.skip(f"no such mount here: {ran.stderr.strip()}")
    return re.sub(r",(inode64|seclabel)\b", "", ran.stdout) or ran.stderr  # as the kernel was built


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("before", ["size=1m", f"size=1m,mpol=prefer:{NODE}", f"size=1m,mpol=interleave:{NODE}"])
def test_a_containers_own_gets_the_policy_and_keeps_the_rest(before: str):
    told = inside(OWN, f"mount -t tmpfs -o {before} shm /dev/shm", str(NODE))
    assert told == f"rw,size=1024k,mpol=interleave:{NODE}\n"


@pytest.mark.usefixtures("root")
def test_a_file_that_is_made_then_is_spread():
    code = "import mmap, os; from numatune import mempolicy; fd = os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT)"
    code += "; os.truncate(fd, 1 << 20); held = mmap.mmap(fd, 0); held[:] = b'x' * len(held)"
    code += "; print(mempolicy.of_address(mempolicy.address_of(held)))"
    after = CODE.replace("\nprint(", f"\n{code}\nprint(")
    script = f'mount -t tmpfs shm /dev/shm; exec {sys.executable} -c "$0" {NODE}'
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["/usr/bin/unshare", *OWN, "sh", "-euc", script, after]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert ran.stdout.splitlines()[0] == f"interleave:{NODE}", ran.stderr


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("namespaces", "mount", "told", "options"),
    [
        (HOSTS, "mount -t tmpfs -o size=1m shm /dev/shm", "is the host's own", "rw,size=1024k"),
        (OWN, "mount -t ramfs shm /dev/shm", "is ramfs, and no tmpfs", "rw"),
    ],
)
def test_what_is_not_the_containers_own_is_left_alone(namespaces: Sequence[str], mount: str, told: str, options: str):
    lines = inside(namespaces, mount, str(NODE)).splitlines()
    assert told in lines[0]
    assert lines[1] == options


@pytest.mark.usefixtures("root")
def test_the_hosts_own_is_left_alone_in_an_ipc_namespace_of_ones_own_too(monkeypatch: pytest.MonkeyPatch):
    """As in a unit with PrivateIPC=yes. The mount is the test's, taken for that of process 1."""
    if Path("/proc/self/ns/pid").stat().st_ino != 0xEFFFFFFC:
        pytest.skip("process 1 is not the host's here")
    monkeypatch.setitem(
        globals(), "CODE", CODE.replace("shm_mount.interleave", "shm_mount.FIRST = '/dev/shm'\nshm_mount.interleave")
    )
    lines = inside(OWN, "mount -t tmpfs -o size=1m shm /dev/shm", str(NODE)).splitlines()
    assert "is the host's own" in lines[0]
    assert lines[1] == "rw,size=1024k"


@pytest.mark.usefixtures("root")
def test_without_the_capability_it_tells_what_helps_and_strict_starts_nothing():
    without = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    mount = "mount -t tmpfs -o size=1m shm /dev/shm"
    lines = inside(OWN, mount, str(NODE), first=without).splitlines()
    assert lines[0].startswith(
        f"shm interleave:{NODE} refused: EPERM: it takes CAP_SYS_ADMIN; start the container with"
    )
    assert lines[1] == "rw,size=1024k"
    assert "strict allows nothing" in inside(OWN, mount, str(NODE), "strict", first=without)


@pytest.mark.usefixtures("root")
def test_nodes_that_are_not_there_change_nothing():
    lines = inside(OWN, "mount -t tmpfs -o size=1m shm /dev/shm", "999").splitlines()
    assert "EINVAL: none of the nodes has memory here" in lines[0]
    assert lines[1] == "rw,size=1024k"


def placed(policy: Policy, **more: Any) -> Placement:
    topology = shaped({"nodes": {0: "0-3", 1: "4-7", 2: {"memory": 96}}})
    given = {"rank": Rank(), "cpus": topology.cpus.online, "mems": CpuSet([0, 1, 2]), **more}
    return place(topology, Process(**given), policy)


@pytest.mark.parametrize(
    ("word", "mems", "nodes"),
    [
        ("keep", "0-2", ""),
        ("interleave", "0-2", "0-1"),
        ("interleave:1-2", "0-2", "1-2"),
        ("interleave:0,7", "0-2", ""),
        ("interleave", "0", ""),
        ("interleave", "0,2", ""),
    ],
)
def test_over_which_nodes(word: str, mems: str, nodes: str):
    policy = wording.read([("shm", word)])
    assert str(placed(policy, mems=CpuSet.parse(mems)).shm) == nodes
    if nodes == "" and word != "keep":
        steps = [step.reason for step in placed(policy, mems=CpuSet.parse(mems)).steps if step.step == "shm"]
        assert "nothing to interleave" in steps[-1]


def test_nodes_without_memory_are_an_error_under_strict():
    with pytest.raises(LaunchError, match="no memory there"):
        placed(wording.read([("shm", "interleave:0,7"), ("strict", "yes")]))


@pytest.mark.parametrize("word", ["always", "keep:0", "interleave:", "interleave:3-1", ""])
def test_what_is_no_word(word: str):
    with pytest.raises(LaunchError, match="shm"):
        wording.read([("shm", word)])


def test_a_word_is_stored_as_it_is_meant():
    policy = wording.read([("shm", "interleave:1,0")])
    assert wording.parse(wording.text(policy), "here") == policy
    assert "shm interleave:0-1" in wording.text(policy)


def test_the_command_line(tmp_path: Path):
    ran = numatune("run", "--shm", "interleaved", "--", "true")
    assert (ran.returncode, "--shm: 'interleaved'; accepted: keep, interleave" in ran.stderr) == (64, True)
    assert numatune("run", "--shm", "interleave", "--print").returncode == 0
    profile = tmp_path / "asked.yaml"
    profile.write_text("name: asked\nlaunch: {shm: always}\n")
    assert "launch.shm: 'always'; accepted: keep, interleave" in numatune("place", "--profile", str(profile)).stderr


def test_a_mount_of_no_kind_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shm_mount, "FOLDER", "/nonexistent")
    told: list[str] = []
    shm_mount.interleave(CpuSet([0]), told.append)
    assert told == ["shm interleave:0 refused: /nonexistent is no mount, and no tmpfs"]
