"""Run by test_shm_live.py in a mount namespace: real commands on mounts that nobody else sees."""

from __future__ import annotations

import errno
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numatune.host.local import LocalHost

FOLDER = Path(sys.argv[1])
KV = Path("/mnt", f"numatune-test-{os.getpid()}")
SHARED = Path("/dev/shm")  # noqa: S108  # the mount itself


def numatune(*words: str, code: int = 0) -> Mapping[str, Any]:
    env = {**os.environ, "NUMATUNE_STATE_DIR": str(FOLDER / "state")}
    argv = [sys.executable, "-m", "numatune", *words, "--json"]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == code, (words, ran.returncode, ran.stdout, ran.stderr)
    told: Mapping[str, Any] = json.loads(ran.stdout) if ran.stdout else {}
    return told


def profile(text: str) -> str:
    path = FOLDER / "mounts.yaml"
    path.write_text(f"name: mounts\nshm: {text}\n")
    path.chmod(0o644)
    return str(path)


def options(point: Path) -> str:
    lines = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    return next((words[3] for words in reversed(lines) if words[1] == str(point)), "")


def policy_of(file: Path) -> str:
    """What numa_maps says of the mapping of a file."""
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as pages:
        pages[0] = 1
        lines = Path("/proc/self/numa_maps").read_text().splitlines()
        return next(line.split(" ")[1] for line in lines if f"file={file}" in line)


def a_mount_of_its_own() -> None:
    made = profile(f"{{{KV}: {{policy: interleave, nodes: 0, size: 64M, huge: within_size}}}}")
    numatune("apply", made, "--yes")
    assert {"mpol=interleave:0", "size=65536k", "huge=within_size"} <= set(options(KV).split(","))
    assert (KV.stat().st_mode & 0o7777, KV.stat().st_dev != KV.parent.stat().st_dev) == (0o1777, True)
    assert numatune("plan", made)["summary"]["changes"] == 0
    numatune("verify")
    numatune("drift")
    cache = KV / "cache"
    cache.write_bytes(bytes(1 << 20))
    assert policy_of(cache) == "interleave:0"

    subprocess.run(["/usr/bin/mount", "-o", "remount,size=32m", str(KV)], check=True)
    drifted = numatune("drift", code=2)
    assert [row["id"] for row in drifted["settings"] if row["status"] == "drifted"] == [f"shm:{KV}/size"]
    numatune("apply", made, "--yes")
    assert "size=65536k" in options(KV)

    kept = numatune("rollback", "--all", "--yes", code=2)
    assert "files are in it" in json.dumps(kept)
    assert cache.exists()
    cache.unlink()
    numatune("rollback", "--all", "--yes")
    assert not options(KV)
    assert not KV.exists()


def the_shared_mount() -> None:
    subprocess.run(["/usr/bin/mount", "-t", "tmpfs", "-o", "size=16m", "shm", str(SHARED)], check=True)
    other = subprocess.Popen(
        ["/usr/bin/unshare", "--mount", "sh", "-c", f"mount -t tmpfs x {SHARED} && echo ready && exec sleep 100"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        made = profile(f"{{{SHARED}: {{policy: interleave, nodes: 0}}}}")
        before = SHARED / "before"
        before.write_bytes(bytes(4096))
        (row,) = numatune("plan", made, code=2)["settings"]
        assert row["action"] == "remount"
        assert any("sleep" in name or name.endswith((".scope", ".service")) for name in row["not_reached"]), row
        numatune("apply", made, "--yes")
        after = SHARED / "after"
        after.write_bytes(bytes(4096))
        assert (policy_of(before), policy_of(after)) == ("default", "interleave:0")
        numatune("verify")
        numatune("rollback", "--yes")
        assert "mpol=local" in options(SHARED).split(",")
        assert "size=16384k" in options(SHARED).split(",")
    finally:
        other.kill()
        other.wait()


def refusals() -> None:
    """What nobody may mount on, and what a kernel does not take."""
    host = LocalHost()
    link, theirs, ours = (FOLDER / name for name in ("link", "theirs", "ours"))
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    ours.mkdir()
    link.symlink_to(ours)
    assert host.mount(str(link), "tmpfs", "size=1m") == errno.ELOOP
    assert host.mount(str(theirs), "tmpfs", "size=1m") == errno.EPERM
    assert host.mount(str(FOLDER / "none"), "tmpfs", "size=1m") == errno.ENOENT
    assert host.mount(str(ours), "tmpfs", "mpol=interleave:900") == errno.EINVAL
    assert not options(ours)

    assert host.mount(str(ours), "tmpfs", "size=1m,mode=0700,mpol=bind:0") == 0
    assert {"size=1024k", "mpol=bind:0", "nosuid", "nodev"} <= set(options(ours).split(","))
    assert host.reconfigure(str(ours), "mpol", "interleave:0,900") == errno.EINVAL
    assert host.reconfigure(str(ours), "mpol", "default") == 0
    assert "mpol=bind:0" in options(ours), "a remount to default does nothing"
    (ours / "file").write_bytes(bytes(1 << 19))
    assert host.reconfigure(str(ours), "size", "4096") == errno.EINVAL
    with (ours / "file").open():
        assert host.unmount(str(ours)) == errno.EBUSY
    assert host.unmount(str(link)) == errno.ELOOP
    assert host.unmount(str(ours)) == 0
    assert host.unmount(str(ours)) == errno.EINVAL


if __name__ == "__main__":
    try:
        refusals()
        a_mount_of_its_own()
        the_shared_mount()
    finally:
        if options(KV):
            subprocess.run(["/usr/bin/umount", str(KV)], check=False)
        if KV.exists():
            KV.rmdir()
