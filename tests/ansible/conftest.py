"""Guests to play the role in: bare ones, and such as have numatune already."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import debian  # found by the line above
import playing


@pytest.fixture(scope="session")
def root() -> Path:
    if reason := debian.missing():
        pytest.skip(reason)
    return debian.root()


@pytest.fixture(scope="session")
def wheelhouse(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive, and the folder that it was made from beside it."""
    del root  # skipped where there is none
    return debian.wheelhouse(tmp_path_factory.mktemp("wheelhouse"))


@pytest.fixture(scope="session")
def installed(root: Path, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer in which the role has been played: numatune, a profile site that asks for what is there already."""
    folder = tmp_path_factory.mktemp("installed")
    with playing.host([root], folder, wheelhouse) as host:
        files = [host.profile("site", tcp_retries1=3)]
        host.role(wheelhouse="/mnt/wheelhouse", profiles=["site"], profile_files=files)
    return folder / "layer" / "upper"


@pytest.fixture
def bare(root: Path, wheelhouse: Path, tmp_path: Path) -> Iterator[playing.Host]:
    with playing.host([root], tmp_path, wheelhouse) as host:
        yield host


@pytest.fixture
def host(root: Path, installed: Path, wheelhouse: Path, tmp_path: Path) -> Iterator[playing.Host]:
    with playing.host([installed, root], tmp_path, wheelhouse) as host:
        yield host
