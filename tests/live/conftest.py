from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    if os.geteuid() != 0:
        pytest.skip("writes to this kernel: needs root")
    made = Machine(tmp_path)
    yield made
    made.put_back()


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that does nothing and may be narrowed."""
    process = subprocess.Popen(["/bin/sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()
