"""A fresh machine of each shape for every module of tests, restored to the state that nobody has touched."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.base import MATRIX, missing
from lab.machine import Machine
from lab.shapes import GRACE, NPS2, SINGLE, TIERED
from lab.warm import machine

LONGEST = ("test_molecule", "test_memory")  # minutes, and each with a shape of its own to build


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What cannot run is skipped. Files are dealt out in the order of their tests: what takes minutes begins."""
    reason = "virtual multi-node machines: only with LAB=1, as in make test"
    if os.environ.get("LAB") == "1":
        reason = missing()
    for item in items:
        if reason and item.get_closest_marker("lab") is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
        elif item.get_closest_marker("matrix") is not None and not MATRIX:
            item.add_marker(pytest.mark.skip(reason="takes minutes more: make lab-matrix"))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (rank(item.path), -tests[item.path]))


def rank(path: Path) -> int:
    """The longest files, those of the lab, those of the role, all others."""
    if path.stem in LONGEST:
        return LONGEST.index(path.stem)
    folders = [Path(__file__).parent.name, "ansible"]
    return len(LONGEST) + (folders.index(path.parent.name) if path.parent.name in folders else len(folders))


@pytest.fixture(scope="module")
def nps2() -> Iterator[Machine]:
    with machine(NPS2) as made:
        yield made


@pytest.fixture(scope="module")
def grace() -> Iterator[Machine]:
    with machine(GRACE) as made:
        yield made


@pytest.fixture(scope="module")
def tiered() -> Iterator[Machine]:
    with machine(TIERED) as made:
        yield made


@pytest.fixture(scope="module")
def single() -> Iterator[Machine]:
    with machine(SINGLE) as made:
        yield made
