"""Not root, read-only mounts, nothing mounted at all: clear rows and the right exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.process import AS_NOBODY, Ended, can_mount, mounted, numatune, process
from fakes.trees import host_tree

from numatune.engine import lock

pytestmark = pytest.mark.live  # others' writes would be seen

Profile = Callable[..., str]

needs_mounts = pytest.mark.skipif(not can_mount(), reason="needs root and mount namespaces")

NEEDS_ROOT = "numatune: changing this host needs root (use sudo)\n"


def as_nobody(folder: Path, *words: str) -> Ended:
    return numatune(*words, state=folder / "state", wrap=AS_NOBODY, cwd=folder)


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "llm-inference", "--yes"),
        ("rollback", "--yes"),
        ("rollback", "--all", "--yes"),
        ("drift", "--repair"),
        ("confirm",),
        ("hold", "--all", "--for", "1h", "--why", "a test"),
        ("unhold", "--all"),
    ],
    ids=" ".join,
)
def test_who_is_not_root_is_told_so_in_one_line(words: tuple[str, ...], nobody: Path):
    done = as_nobody(nobody, *words)
    assert (done.code, done.out, done.err) == (1, "", NEEDS_ROOT)
    assert not (nobody / "state").exists()


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (("topology",), {0}),
        (("profiles", "list"), {0}),
        (("profiles", "show", "llm-inference"), {0}),
        (("profiles", "lint", "llm-inference"), {0}),
        (("plan", "llm-inference"), {0, 2}),
        (("drift", "llm-inference"), {0, 2}),
        (("verify", "llm-inference"), {0, 2}),
        (("explain", "vm.swappiness"), {0}),
        (("history",), {0}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_only_reads_needs_no_root(words: tuple[str, ...], codes: set[int], nobody: Path):
    done = as_nobody(nobody, *words)
    assert (done.code in codes, done.err) == (True, "")
    assert done.out or (words[0], done.code) == ("drift", 0)
    assert not (nobody / "state").exists()


def test_status_is_the_same_whoever_asks(nobody: Path, tmp_path: Path):
    asked = ("plan", "llm-inference", "--json")
    theirs, ours = as_nobody(nobody, *asked).json, numatune(*asked, state=tmp_path / "state").json
    keys = ("id", "status", "action", "wanted", "reason")
    assert [[row[key] for key in keys] for row in theirs["settings"]] == [
        [row[key] for key in keys] for row in ours["settings"]
    ]


@needs_mounts
def test_a_read_only_proc_sys_is_denied_row_by_row(profile: Profile, tmp_path: Path):
    path = profile("name: asked\nsysctl: {vm.swappiness: 61, kernel.no_such_key: 1}\n")
    wrap = mounted("mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys")
    planned = numatune("plan", path, "--json", state=tmp_path / "state", wrap=wrap)
    rows = {row["id"].removeprefix("sysctl:"): (row["status"], row["action"]) for row in planned.json["settings"]}
    assert planned.code == 2
    assert rows == {"vm.swappiness": ("denied", "none"), "kernel.no_such_key": ("unsupported", "none")}
    applied = numatune("apply", path, "--yes", state=tmp_path / "state", wrap=wrap)
    assert (applied.code, applied.err) == (2, "")
    assert "EROFS" in applied.out
    assert not list((tmp_path / "state").glob("runs/*"))
    assert numatune("verify", path, state=tmp_path / "state", wrap=wrap).code == 2


@needs_mounts
def test_what_is_writable_below_a_read_only_proc_sys_is_written(profile: Profile, tmp_path: Path):
    """As in a container with a network of its own; the namespace keeps the write from this machine."""
    path = profile("name: asked\nsysctl: {vm.swappiness: 61, net.ipv4.ip_local_port_range: 32770 60998}\n")
    folder = tmp_path / "proc"
    folder.mkdir()
    script = (
        'mount -t proc proc "$1"; mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys;'
        ' mount --bind "$1/sys/net" /proc/sys/net'
    )
    own_network = ("unshare", "--net", *mounted(script, folder))
    done = numatune("apply", path, "--yes", "--json", state=tmp_path / "state", wrap=own_network)
    rows = {row["id"].removeprefix("sysctl:"): row["status"] for row in done.json["settings"]}
    assert rows == {"vm.swappiness": "denied", "net.ipv4.ip_local_port_range": "ok"}
    assert done.code == 2
    assert list((tmp_path / "state").glob("runs/*.jsonl"))


@needs_mounts
@pytest.mark.parametrize("over", ["an empty tmpfs", "nothing"])
def test_without_control_groups_the_rows_say_so(over: str, profile: Profile, tmp_path: Path):
    path = profile("name: asked\ncpusets: {inference.slice: {cpus: 0, mems: 0, memory_max: 1G}}\n")
    script = "for at in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/self/mounts); do umount --lazy $at; done"  # anywhere
    script += "; ! mountpoint -q /sys/fs/cgroup || umount --recursive --lazy /sys/fs/cgroup"
    if over == "an empty tmpfs":
        script += "; mount -t tmpfs none /sys/fs/cgroup"
    wrap = mounted(script)
    planned = numatune("plan", path, "--json", state=tmp_path / "state", wrap=wrap)
    assert planned.code == 2
    assert {(row["status"], row["reason"]) for row in planned.json["settings"]} == {
        ("unsupported", "no control groups are mounted")
    }
    applied = numatune("apply", path, "--yes", state=tmp_path / "state", wrap=wrap)
    assert (applied.code, applied.err) == (2, "")
    assert not list((tmp_path / "state").glob("runs/*"))
    assert numatune("drift", state=tmp_path / "state", wrap=wrap).code == 0


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A captured tree of a kernel without nodes and without transparent huge pages."""
    root = tmp_path / "bare"
    for path, text in host_tree(nodes=1, cpus_per_node=4, nics=1, with_thp=False, sysctl={}).items():
        if "/node" in path or path.endswith(("zone_reclaim_mode", "numa_balancing")) or text.startswith("-> "):
            continue
        file = root / path.strip("/")
        if path.endswith("/"):
            file.mkdir(parents=True, exist_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return str(root)


def test_a_kernel_without_nodes_and_thp_gets_rows_and_no_error(bare: str, tmp_path: Path):
    planned = numatune("--root", bare, "plan", "llm-inference", "--json", state=tmp_path / "state")
    rows = {row["id"]: row for row in planned.json["settings"]}
    assert (planned.code, planned.err) == (2, "")
    for name, why in {
        "sysctl:vm.zone_reclaim_mode": "CONFIG_NUMA",
        "sysctl:kernel.numa_balancing": "CONFIG_NUMA_BALANCING",
        "thp:enabled": "CONFIG_TRANSPARENT_HUGEPAGE",
        "thp:defrag": "CONFIG_TRANSPARENT_HUGEPAGE",
    }.items():
        assert rows[name]["status"] == "unsupported"
        assert why in rows[name]["reason"]
    assert rows["sysctl:vm.swappiness"]["action"] == "update"
    pools = ("--var", "hugepages_2m_per_node=8")
    with_pools = numatune("--root", bare, "plan", "llm-inference", "--json", *pools, state=tmp_path / "state").json
    (pool,) = [row for row in with_pools["settings"] if row["section"] == "hugepages"]
    assert pool["status"] == "unsupported"


def test_a_captured_tree_is_never_applied_to(bare: str, tmp_path: Path):
    done = numatune("--root", bare, "apply", "llm-inference", "--yes", state=tmp_path / "state")
    assert (done.code, len(done.lines)) in {(1, 1), (64, 1)}
    assert "captured" in done.err or "--root-is-live" in done.err


def test_nobody_can_keep_root_waiting(nobody: Path):
    """Who can read a file can lock it (flock(2))."""
    path = nobody / "lock"
    with lock.held(str(path), "apply"):
        assert path.stat().st_mode & 0o777 == 0o600
    taken = process([*AS_NOBODY, "flock", "--nonblock", str(path), "true"], cwd=nobody)
    assert taken.code != 0
    assert "Permission denied" in taken.err


@pytest.fixture
def lock_file() -> Iterator[Path]:
    """On a tmpfs: of a file on an overlay or on btrfs /proc/locks tells another device than stat(2)."""
    path = Path(f"/dev/shm/numatune-test-lock-{os.getpid()}")  # noqa: S108  # as above
    yield path
    path.unlink(missing_ok=True)


def test_nobody_sees_that_a_run_is_going_on(lock_file: Path, nobody: Path):
    path = lock_file
    ask = f"from numatune.engine import lock; print(lock.holder({str(path)!r}))"
    with lock.held(str(path), "apply"):
        assert process([*AS_NOBODY, sys.executable, "-P", "-c", ask], cwd=nobody).out == f"pid {os.getpid()}\n"
    assert process([*AS_NOBODY, sys.executable, "-P", "-c", ask], cwd=nobody).out == "\n"
