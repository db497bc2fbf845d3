"""The JSON Schema takes what `resolve` takes, and finds in an editor what can be found there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from numatune.knobs import SECTIONS
from numatune.profile.lookup import shipped_folder
from numatune.profile.schema import schema

CASES = Path(__file__).parent / "cases"
KNOB_CASES = Path(__file__).parent.parent / "knobs" / "cases"
VALIDATOR = jsonschema.Draft202012Validator(schema())


def texts() -> list[tuple[str, str]]:
    found = [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(Path(shipped_folder()).glob("*.yaml"))]
    for path in (*sorted(CASES.glob("*.yaml")), *sorted(KNOB_CASES.glob("*/*.yaml"))):
        case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "error" not in case:
            found += [(path.stem, text) for text in case.get("files", {"": case.get("profile", "")}).values()]
    return found


def test_it_is_a_schema_and_knows_every_section() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert set(SECTIONS) <= schema()["properties"].keys()


@pytest.mark.parametrize(("name", "text"), texts())
def test_what_is_right_is_right_in_an_editor(name: str, text: str) -> None:
    found = [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(yaml.safe_load(text))]
    assert found == [], name


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{}", "$"),
        ("{name: a, sysctll: {}}", "$"),
        ("{name: a, shm: {/dev/shm: {policy: spread}}}", "$.shm['/dev/shm']"),
        ("{name: a, thp: {enabeld: always}}", "$.thp"),
        ("{name: a, thp: {enabled: sometimes}}", "$.thp.enabled"),
        ("{name: a, thp: {enabled: {value: sometimes}}}", "$.thp.enabled"),
        ("{name: a, thp: {sizes: {64kB: sometimes}}}", "$.thp.sizes['64kB']"),
        ("{name: a, sysctl: {vm.swappiness: 300}}", "$.sysctl['vm.swappiness']"),
        ("{name: a, sysctl: {kernel.numa_balancing: '>= 1'}}", "$.sysctl['kernel.numa_balancing']"),
        ("{name: a, when: {kernal: '6'}}", "$.when"),
        ("{name: a, when: {}}", "$.when"),
        ("{name: a, thp: {when: {kernal: '6'}}}", "$.thp.when"),
        ("{name: a, on_error: stop}", "$.on_error"),
        ("{name: a, devices: {'0000:41:00.0': -1}}", "$.devices['0000:41:00.0']"),
    ],
)
def test_what_is_wrong_is_shown_where_it_is(text: str, path: str) -> None:
    assert path in {error.json_path for error in VALIDATOR.iter_errors(yaml.safe_load(text))}
