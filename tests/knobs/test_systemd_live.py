"""Units and properties with a real systemd, process 1 of namespaces of its own, with copies of /etc and /run.

All that it does to this machine is one cgroup below the v2 tree, which goes away with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BOOT = """
mount --make-rprivate /
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mkdir /run/etc
cp -a /etc/. /run/etc/
rm -rf /run/etc/systemd/system /run/etc/numatune
mkdir -p /run/etc/systemd/system
printf '[Unit]\\nDefaultDependencies=no\\n' > /run/etc/systemd/system/minimal.target
mount --bind /run/etc /etc
export container=lxc
exec "$1" --system --unit=minimal.target --log-target=null --show-status=false
"""
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")

pytestmark = pytest.mark.live


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup of our own below the v2 tree."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [words[1] for words in mounts if words[2] == "cgroup2"]
    if os.geteuid() != 0 or not roots or not os.access(roots[0], os.W_OK):
        pytest.skip("needs root and a writable cgroup v2 tree")
    made = Path(roots[0], f"numatune-test-{os.getpid()}")
    made.mkdir()
    yield made
    for folder in sorted((path for path in made.rglob("*") if path.is_dir()), reverse=True):
        folder.rmdir()
    made.rmdir()


@pytest.fixture
def systemd(group: Path) -> Iterator[int]:
    """The pid of a systemd that runs in it."""
    program = next((path for path in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if Path(path).exists()), None)
    if program is None or not shutil.which("unshare") or not shutil.which("nsenter"):
        pytest.skip("needs systemd, unshare and nsenter")
    enter = f'echo $$ > {group}/cgroup.procs; exec unshare --fork {" ".join(NAMESPACES)} sh -euc "$0" boot "$1"'
    process = subprocess.Popen(["/bin/sh", "-c", enter, BOOT, program], stderr=subprocess.PIPE, text=True)
    first = group / "init.scope" / "cgroup.procs"
    for _ in range(600):
        if (first.exists() and first.read_text().strip()) or process.poll() is not None:
            break
        time.sleep(0.05)
    pids = first.read_text().split() if first.exists() else []
    if not pids or process.poll() is not None:
        process.kill()
        said = process.communicate()[1]
        pytest.skip(f"no systemd in namespaces here: {said.strip()[:200]}")
    yield int(pids[0])
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pids[0]), signal.SIGKILL)
    process.wait()


def test_units_and_properties_with_a_real_systemd(systemd: int, tmp_path: Path):
    inside = ["nsenter", "--target", str(systemd), *NAMESPACES]
    waits = [*inside, "systemctl", "is-system-running", "--wait"]
    subprocess.run(waits, capture_output=True, check=False, timeout=300)
    paths = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent)])
    ran = subprocess.run(
        [*inside, "env", f"PYTHONPATH={paths}", sys.executable, str(HERE / "systemd_inside.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
