"""Guests to play the role in: bare ones, and such as have numatune already."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import debian  # found by the line above
from lab.base import CHECKOUT
from playing import Host


@pytest.fixture(scope="session")
def root() -> Path:
    if reason := debian.missing():
        pytest.skip(reason)
    return debian.root()


@pytest.fixture(scope="session")
def wheelhouse(root: Path) -> Path:
    del root  # skipped where there is none
    return debian.wheelhouse()


@pytest.fixture(scope="session")
def installed(root: Path, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer in which the role has been played: numatune, a profile site that asks for what is there already."""
    folder = tmp_path_factory.mktemp("installed")
    for host in started([root], folder, wheelhouse):
        files = [host.profile("site", tcp_retries1=3)]
        host.role(wheelhouse="/mnt/wheelhouse", profiles=["site"], profile_files=files)
    return folder / "layer" / "upper"


@pytest.fixture
def bare(root: Path, wheelhouse: Path, tmp_path: Path) -> Iterator[Host]:
    yield from started([root], tmp_path, wheelhouse)


@pytest.fixture
def host(root: Path, installed: Path, wheelhouse: Path, tmp_path: Path) -> Iterator[Host]:
    yield from started([installed, root], tmp_path, wheelhouse)


def started(lower: list[Path], folder: Path, wheelhouse: Path) -> Iterator[Host]:
    """A guest over these layers."""
    (folder / "play").mkdir()
    binds: Mapping[str, Path] = {
        "/mnt/checkout": CHECKOUT,
        "/mnt/play": folder / "play",
        "/mnt/wheelhouse": wheelhouse.parent / wheelhouse.stem,
    }
    guest = debian.Guest(lower, folder / "layer", binds)
    try:
        yield Host(guest, folder / "play")
    finally:
        guest.close()
