"""Whatever a knob makes of a profile, `explain` tells what it is, its range, and what else one has to know."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.cases import kernel_of
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two

from numatune import api, profile
from numatune.discover import discover
from numatune.errors import ProfileError
from numatune.knobs import SECTIONS, knobs
from numatune.knobs.keys import Facts, keys, named
from numatune.knobs.sysctl_catalogue import CATALOGUE
from numatune.topology.resolve import with_overrides

FOLDER = Path(__file__).parent / "cases"
TOLD = {"what", "range", "set for", "kernels", "side effects", "source"}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_kind_of_setting_of_every_case_is_explained(section: str, tmp_path: Path) -> None:
    known = set[str]()
    for path in sorted((FOLDER / section).glob("*.yaml")):
        case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        asked = tmp_path / path.name
        asked.write_text(case["profile"], encoding="utf-8")
        kernel = kernel_of(case)
        new = {pattern: sid for sid in _ids(asked, kernel) if (pattern := re.sub("[0-9]+", "N", sid)) not in known}
        for one in api.explain(kernel, [*new.values()], [str(asked)]) if new else ():
            assert {heading for heading, text in one.known if text} >= TOLD, one
            assert one.check, one
            assert one.change is not None
        known |= new.keys()
    assert known


def _ids(asked: Path, kernel: FakeKernel) -> Iterator[str]:
    try:
        document = profile.load([str(asked)])
        topology = with_overrides(discover(kernel, document.reads), document.overrides)
        yield from (str(one.id) for one in profile.resolve(document, topology).settings if one.want is not None)
    except ProfileError:
        return


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_has_every_fact(section: str) -> None:
    for knob in knobs({section}):
        for key in keys(knob):
            facts = {field.name: getattr(key.facts, field.name) for field in fields(Facts)}
            assert all(text for name, text in facts.items() if name != "accepts"), key
            assert key.accepts, key
            assert named(key.name) == key


def test_every_sysctl_of_the_catalogue_tells_what_and_why() -> None:
    assert [key for key, known in CATALOGUE.items() if not (known.about and known.why)] == []


def test_no_fact_is_of_a_key_that_there_is_not() -> None:
    data = Path(api.__file__).parent.parent / "knobs/data/keys.toml"
    told = tomllib.loads(data.read_text(encoding="utf-8"))
    paths = {key.path for knob in knobs() for key in keys(knob)}
    parts = {path[:end] for path in paths for end in range(1, len(path) + 1)} | {path[-2:] for path in paths}
    assert [name for name in told if tuple(name.split(".")) not in parts] == []
