"""A fresh machine of each shape for every module of tests, restored to the state that nobody has touched."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab.base import missing
from lab.machine import Machine
from lab.shapes import GRACE, NPS2, SINGLE, TIERED
from lab.warm import machine, reset


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = "virtual multi-node machines: only with LAB=1, as in make test"
    if os.environ.get("LAB") == "1":
        reason = missing()
    if reason:
        for item in items:
            if item.get_closest_marker("lab") is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


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


@pytest.fixture
def fresh_nps2(nps2: Machine) -> Machine:
    """The module's machine, made anew for one test."""
    reset(nps2)
    return nps2
