"""Mounts on this machine's kernel, in a mount namespace of their own, with a /dev/shm of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROBE = "mount -t tmpfs -o mpol=interleave:0 probe /dev/shm"

pytestmark = pytest.mark.live


def inside(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/usr/bin/unshare", "--mount", "--propagation", "private", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parent.parent)])},
    )


def test_mounts_come_and_go_on_a_real_kernel(tmp_path: Path):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("mounts: needs root and unshare")
    if inside("sh", "-c", PROBE).returncode:
        pytest.skip("this kernel mounts no tmpfs with a policy here")
    ran = inside(sys.executable, str(HERE / "mounts_inside.py"), str(tmp_path))
    assert (ran.returncode, ran.stderr) == (0, "")
