from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.process import no_nobody


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A folder of nobody's own, to work in and to hold its state."""
    if why := no_nobody():
        pytest.skip(why)
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
