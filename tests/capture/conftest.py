from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.shells import Capture, lay_out

from numatune import api
from numatune.host.protocol import Reader


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    """A generated host, captured and opened."""

    def captured(tree: Mapping[str, str], **options: Any) -> Reader:
        folder = lay_out(tree, tmp_path / "host")
        return api.open_reader(api.capture(str(tmp_path / "host.tar.xz"), root=str(folder), **options).path)

    return captured
