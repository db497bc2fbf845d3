"""Shared memory from outside its server, on this machine's /dev/shm; every file is taken away again."""

from __future__ import annotations

import json
import mmap
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.process import can_mount
from launch.test_run import NODE, ROOT, numatune

from numatune import mempolicy
from numatune.cpus import CpuSet
from numatune.errors import HostError
from numatune.launch import shared
from numatune.mempolicy import InForce

MIB = 1 << 20

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/numa_maps").exists() or not os.access(shared.FOLDER, os.W_OK),
    reason="needs a kernel with NUMA and a /dev/shm to write to",
)


def of_the_mount() -> InForce:
    """The policy that a file has from the start: a mount's may be set, and cannot be taken off again."""
    lines = [line for line in Path("/proc/mounts").read_text("ascii").splitlines() if f" {shared.FOLDER} " in line]
    found = re.search(r"mpol=(\w+)(?::([\d,-]+))?", lines[-1]) if lines else None
    if found is None:
        return InForce("default")
    return InForce({"prefer": "preferred"}.get(found[1], found[1]), CpuSet.parse(found[2] or ""))


@pytest.fixture
def file() -> Iterator[Path]:
    """8 MiB, of which 3 in two places are touched."""
    path = Path(shared.FOLDER) / f"numatune-test-{os.getpid()}"
    try:
        with path.open("wb") as out:
            out.truncate(8 * MIB)
            out.write(b"x" * MIB)
            out.seek(4 * MIB)
            out.write(b"x" * (2 * MIB))
        yield path
    finally:
        path.unlink(missing_ok=True)


def test_looking_tells_the_pages_and_allocates_none(file: Path):
    before = file.stat().st_blocks
    found = shared.show(str(file))
    assert (found.bytes, found.policy, dict(found.kib)) == (8 * MIB, of_the_mount(), {NODE: 3 * 1024})
    assert file.stat().st_blocks == before


def test_a_policy_holds_for_all_who_map_it_later(file: Path):
    before, after, held = shared.set_policy(str(file), "bind", [NODE])
    assert held == after.policy == InForce("bind", [NODE])
    assert held.reason == ""
    assert before.placed == after.placed == 3 * 1024
    code = f"""
import mmap, os
from numatune import mempolicy
fd = os.open({str(file)!r}, os.O_RDWR)
held = mmap.mmap(fd, 0)
print(mempolicy.of_address(mempolicy.address_of(held)))
held[:] = b"y" * len(held)
print(mempolicy.spread(held))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert ran.stdout == f"bind:{NODE}\n{{{NODE}: {8 * MIB // mmap.PAGESIZE}}}\n"
    assert shared.show(str(file)).placed == 8 * 1024


def test_a_size_that_is_no_whole_page(file: Path):
    os.truncate(file, 8 * MIB + 5)
    with file.open("r+b") as out:
        out.seek(8 * MIB)
        out.write(b"end")
    shared.set_policy(str(file), "preferred", [NODE])
    found = shared.show(str(file))
    assert (found.bytes, found.placed) == (8 * MIB + 5, 3 * 1024 + mmap.PAGESIZE // 1024)
    assert found.policy == InForce("preferred", [NODE])


def test_ranges_with_policies_of_their_own_are_counted_together(file: Path):
    with file.open("r+b") as out, mmap.mmap(out.fileno(), 0) as whole:
        start = mempolicy.address_of(whole)
        mempolicy.set_range(start, MIB // 2, "bind", [NODE])
    assert dict(shared.show(str(file)).kib) == {NODE: 3 * 1024}


def test_what_is_on_no_tmpfs_is_refused(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared._Mapping, "kind", lambda _: "hugetlbfs")  # noqa: SLF001  # mounting one needs root
    with pytest.raises(HostError, match="hugetlbfs keeps no policy with a file"):
        shared.set_policy(str(file), "bind", [NODE])
    with pytest.raises(HostError, match="is not there"):
        shared.wait(str(tmp_path / "nothing"), 0)
    with pytest.raises(HostError, match="name a file in it"):
        shared.show(str(tmp_path))


def test_what_is_on_a_disk_is_refused():
    disk = Path("/var/tmp") / f"numatune-test-{os.getpid()}"  # noqa: S108  # a tmpfs only where all of / is in memory
    try:
        disk.write_bytes(b"x" * 4096)
        if kind_of(disk) == "tmpfs":
            pytest.skip("no folder on a disk is known here")
        with pytest.raises(HostError, match="accepted: a file on tmpfs"):
            shared.set_policy(str(disk), "bind", [NODE])
    finally:
        disk.unlink(missing_ok=True)


def kind_of(path: Path) -> str:
    """The file system that it is on, as coreutils' stat has it."""
    return subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607  # coreutils


@pytest.mark.skipif(not can_mount(), reason="needs root, unshare and the right to mount")
def test_a_container_has_mounts_of_its_own():
    script = "mount -t tmpfs own /mnt && truncate -s 8192 /mnt/x && echo ready && read end"
    with subprocess.Popen(
        ["/usr/bin/unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert child.stdin
        assert child.stdout.readline() == "ready\n"
        path = shared.find("/mnt/x", child.pid)
        _, after, held = shared.set_policy(path, "bind", [NODE])
        child.stdin.close()
    assert held == after.policy == InForce("bind", [NODE])


def test_names_are_paths_or_of_posix_shared_memory():
    assert shared.find("x") == shared.find("/x") == f"{shared.FOLDER}/x"
    assert shared.find("/mnt/x") == "/mnt/x"
    assert shared.find("x", 7) == f"/proc/7/root{shared.FOLDER}/x"


def test_a_file_is_waited_for_until_it_has_a_size():
    path = Path(shared.FOLDER) / f"numatune-late-{os.getpid()}"

    def make() -> None:
        time.sleep(0.1)
        path.touch()
        time.sleep(0.1)
        os.truncate(path, MIB)

    maker = threading.Thread(target=make)
    try:
        maker.start()
        ran = numatune("shm", "policy", path.name, "--bind", str(NODE), "--wait", "20", "--json")
        maker.join()
        assert json.loads(ran.stdout)["policy"] == {"mode": "bind", "nodes": [NODE], "reason": ""}
        assert ran.returncode == 0
    finally:
        maker.join()
        path.unlink(missing_ok=True)
    ran = numatune("shm", "show", path.name, "--wait", "0.05")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "is not there" in ran.stderr


def test_the_command_line(file: Path):
    ran = numatune("shm", "show", file.name, "--pid", str(os.getpid()))
    assert ran.stdout.splitlines()[0].endswith(f"8M, 3M of it placed, {of_the_mount()}")
    ran = numatune("shm", "policy", str(file), "--bind", str(NODE), "--migrate")
    assert ran.stderr == "numatune: 3072 KiB were placed already; 0 KiB of it moved\n"
    assert f"bind:{NODE}" in ran.stdout
    ran = numatune("shm", "policy", str(file), "--interleave", "--nodes", str(NODE))
    assert (ran.returncode, "nothing to interleave" in ran.stderr) == (0, True)
    for argv, code in (
        (["--bind", "999"], 1),
        (["--bind", "x"], 64),
        (["--prefer", "0,1"], 64),
        (["--bind", "0", "--nodes", "1"], 64),
        ([], 64),
    ):
        assert numatune("shm", "policy", str(file), *argv).returncode == code


def test_seccomp_is_told(file: Path):
    from launch import seccomp  # noqa: PLC0415  # in the child

    ran = numatune("shm", "policy", str(file), "--bind", str(NODE), first=lambda: seccomp.deny("mbind"))
    assert ran.returncode == 1
    assert "--cap-add SYS_NICE" in ran.stderr
