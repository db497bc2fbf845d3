"""The wanted state as testinfra checks: one test per setting. Run by isolated.py in a process of its own.

Its working folder holds the settings; a verdict goes there line by line, so that what was judged is never lost.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numatune.settings import wire
from numatune.settings.model import Setting
from numatune.settings.plan import Status, counts
from numatune.verify.asking import Asking, TestinfraHost
from numatune.verify.judge import judge

SETTINGS, VERDICTS = "settings.json", "verdicts.jsonl"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per setting, named by its id."""
    folder = metafunc.config.invocation_params.dir
    data = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    settings = [wire.from_data(item, Setting) for item in data]
    metafunc.parametrize("setting", settings, ids=[setting.id for setting in settings])


@pytest.fixture(scope="session")
def verdicts(pytestconfig: pytest.Config) -> Path:
    """Where the verdicts go."""
    return pytestconfig.invocation_params.dir / VERDICTS


@pytest.fixture(scope="module")
def asking(host: TestinfraHost) -> Asking:
    """The host, asked through testinfra."""
    return Asking(host)


def test_host_is_as_wanted(asking: Asking, setting: Setting, verdicts: Path, request: pytest.FixtureRequest) -> None:
    """Fails on what counts as a difference; what is settled otherwise is skipped with its status."""
    said = judge(setting, asking)
    with verdicts.open("a", encoding="utf-8") as lines:
        lines.write(said.as_line() + "\n")
    told = {"status": said.status, "wanted": said.wanted, "found": said.found, "source": said.source}
    request.node.user_properties.extend(told.items())
    if counts(setting, said.status):
        pytest.fail(f"{said.status}: {said.message}", pytrace=False)
    if said.status not in {Status.OK, Status.PENDING}:
        pytest.skip(f"{said.status}: {said.message}")
