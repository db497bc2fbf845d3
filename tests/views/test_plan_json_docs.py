"""The reference of the plan's JSON names everything that the schema has, and its example is a valid plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema

from numatune.settings.plan import Action, Status
from numatune.views import plan_json

TEXT = (Path(__file__).parents[2] / "docs" / "plan-json.md").read_text(encoding="utf-8")
SCHEMA = json.loads(plan_json.schema())


def test_the_example_is_a_valid_plan() -> None:
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]
    jsonschema.validate(examples[0], SCHEMA)
    assert examples[0]["settings"]
    assert set(examples[1]) == {"error"}


def test_every_name_of_the_schema_is_explained() -> None:
    row = SCHEMA["$defs"]["row"]["properties"]
    named = set(re.findall(r"`([a-z_-]+)`", TEXT))
    assert named >= set(SCHEMA["properties"]) | set(row)
    assert named >= {str(word) for word in (*Status, *Action)}


def test_the_schema_knows_every_word() -> None:
    assert SCHEMA["$defs"]["status"]["enum"] == [status.value for status in Status]
    assert SCHEMA["$defs"]["action"]["enum"] == [action.value for action in Action]
