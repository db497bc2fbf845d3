"""Hosts that can be restarted."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.reboots import (
    Host,
    Make,
)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda **tree: Host(tmp_path, monkeypatch, tree.get("tree", {}))


@pytest.fixture
def host(make: Make) -> Host:
    return make()
