"""A fresh machine of each shape for every module of tests, restored to the state that nobody has touched."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab.base import missing
from lab.machine import Machine
from lab.shapes import NPS2, SINGLE
from lab.warm import machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing() if os.environ.get("LAB") == "1" else "on virtual multi-node machines: only with LAB=1"
    if reason:
        for item in items:
            if item.get_closest_marker("lab") is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module")
def nps2() -> Iterator[Machine]:
    with machine(NPS2) as made:
        yield made


@pytest.fixture(scope="module")
def single() -> Iterator[Machine]:
    with machine(SINGLE) as made:
        yield made
