"""Makes `fakes` importable and lets tests that write to this machine's kernel run one at a time."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault
settings.load_profile("untimed")

os.umask(0o022)  # what others could write is refused by design, and tests write profiles
for name in [name for name in os.environ if name.startswith("NUMATUNE_") and name != "NUMATUNE_CAPTURES"]:
    del os.environ[name]

LOCK = Path("/run/numatune-tests.lock")


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Two test runs on one machine, each comparing the kernel with what it was, wait for each other."""
    if request.node.get_closest_marker("live") is None or os.geteuid() != 0:
        yield
        return
    if not os.access("/proc/sys/vm/swappiness", os.W_OK):
        pytest.skip("the kernel's files are read-only here, as in a container")
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
