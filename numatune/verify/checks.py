"""The wanted state as testinfra checks: one test per setting. Run by isolated.py in a process of its own.

Its working folder holds the settings; verdicts go there line by line, so that what was judged is never lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from numatune.settings import wire
from numatune.settings.codecs import shown
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Status, counts
from numatune.verify.asking import Asking, TestinfraHost
from numatune.verify.judge import judge
from numatune.verify.verdict import SETTINGS_FILE, VERDICTS_FILE, told


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per setting, named by its id."""
    known = _known(metafunc.config)
    metafunc.parametrize("setting", known.values(), ids=known.keys())


@pytest.fixture(scope="module")
def known(pytestconfig: pytest.Config) -> Mapping[SettingId, Setting]:
    """All settings."""
    return _known(pytestconfig)


@pytest.fixture(scope="module")
def verdicts(pytestconfig: pytest.Config) -> Path:
    """Where the verdicts go."""
    return pytestconfig.invocation_params.dir / VERDICTS_FILE


@pytest.fixture(scope="module")
def ask(host: TestinfraHost) -> Asking:
    """The host, asked through testinfra."""
    return Asking(host)


def test_host_is_as_wanted(
    setting: Setting,
    known: Mapping[SettingId, Setting],
    ask: Asking,
    verdicts: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Fails on what counts as a difference; what is neither that nor as wanted is skipped with its status."""
    said = judge(setting, known, ask)
    with verdicts.open("a", encoding="utf-8") as lines:
        lines.write(said.as_line() + "\n")
    properties = {"status": said.status, "wanted": said.wanted, "found": shown(setting.codec, said.found)}
    request.node.user_properties.extend([*properties.items(), ("source", said.source)])
    if counts(setting, said.status):
        pytest.fail(told(setting, said), pytrace=False)
    if said.status not in {Status.OK, Status.PENDING}:
        pytest.skip(told(setting, said))


def _known(config: pytest.Config) -> dict[SettingId, Setting]:
    data = json.loads((config.invocation_params.dir / SETTINGS_FILE).read_text(encoding="utf-8"))
    settings = (wire.from_data(item, Setting) for item in data)
    return {setting.id: setting for setting in settings}
