from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.process import AS_NOBODY


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A folder of nobody's own, to work in and to hold its state."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become nobody, with setpriv")
    asks = [*AS_NOBODY, sys.executable, "-P", "-c", "import numatune, yaml"]
    if subprocess.run(asks, check=False, capture_output=True).returncode:
        pytest.skip("nobody may not read this checkout or its virtual environment")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folders are closed to others
        folder = Path(name)
        os.chown(folder, 65534, 65534)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., str]:
    """Writes a profile beside the state folder and gives its path."""

    def written(text: str | bytes, name: str = "asked") -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(0o644)
        return str(path)

    return written
