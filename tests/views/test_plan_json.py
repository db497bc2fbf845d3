from __future__ import annotations

import json

import jsonschema
import pytest
from fakes.rows import change, sysctl, thp

from numatune.settings.codecs import Int
from numatune.settings.model import Source
from numatune.settings.plan import Action, Change, Conflict, HostInfo, Observation, Outcome, Plan, ProfileInfo, Status
from numatune.views import plan_json

SCHEMA = json.loads(plan_json.schema())
SETTING = sysctl(
    "vm.min_free_kbytes",
    "2097152",
    codec=Int(">="),
    why="bursts",
    source=Source("my.yaml", 3),
    note="stays",
    undo="nearest",
)
SEEN = Observation("67584\n", effective="67584\n", conflicts=(Conflict("sysctl.d", "/etc/sysctl.d/9.conf:1", "1"),))
PLAN = Plan(
    (ProfileInfo("a", "1", "h1"), ProfileInfo("b", "", "h2")),
    HostInfo("/", "6.18.1", "x86_64", "0-1", "0-95", "boot", "print"),
    (
        Change(SETTING, SEEN, Status.DRIFTED, Action.UPDATE, ("2097152",)),
        change(thp("madvise", optional=True), "always [madvise] never\n"),
        change(sysctl("kernel.numa_balancing", "0"), None, Status.UNSUPPORTED, reason="not built"),
        change(sysctl("vm.watermark_scale_factor", None), "10\n"),
    ),
)


def valid(document: object) -> object:
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_row_has_the_published_names_and_short_spellings() -> None:
    assert plan_json.row(PLAN.changes[0]) == {
        "id": "sysctl:vm.min_free_kbytes",
        "section": "sysctl",
        "status": "drifted",
        "action": "update",
        "wanted": ">= 2097152",
        "current": "67584",
        "effective": "67584",
        "why": "bursts",
        "source": "my.yaml:3",
        "reason": "",
        "held": "",
        "impact": "live",
        "note": "stays",
        "undo": "nearest",
        "restart_needed": [],
        "not_reached": [],
        "optional": None,
        "conflicts": [{"owner": "sysctl.d", "where": "/etc/sysctl.d/9.conf:1", "value": "1"}],
    }


def test_a_plan_is_valid_and_leaves_out_what_is_only_watched() -> None:
    made = plan_json.plan(PLAN)
    valid(made)
    assert made["format"] == 1
    assert made["profile"] == "a b"
    assert [row["id"] for row in made["settings"]] == [
        "sysctl:vm.min_free_kbytes",
        "thp:enabled",
        "sysctl:kernel.numa_balancing",
    ]
    assert made["summary"] == {
        "settings": 3,
        "differences": 2,
        "changes": 1,
        "by_status": {"drifted": 1, "ok": 1, "unsupported": 1},
    }


def test_a_report_tells_what_came_of_each_row() -> None:
    outcome = Outcome(
        SETTING.id, Status.CLAMPED, "67584\n", ("2097152",), "90000\n", errno=22, changed=True, reason="cut"
    )
    made = plan_json.report(PLAN, {SETTING.id: outcome}, 7)
    valid(made)
    row = made["settings"][0]
    assert made["run"] == 7
    assert {key: row[key] for key in ("status", "before", "current", "changed", "errno", "reason")} == {
        "status": "clamped",
        "before": "67584",
        "current": "90000",
        "changed": True,
        "errno": "EINVAL",
        "reason": "cut",
    }
    assert made["summary"]["changes"] == 1


@pytest.mark.parametrize("key", ["status", "action", "impact", "undo"])
def test_the_schema_refuses_unknown_words(key: str) -> None:
    made = plan_json.plan(PLAN)
    made["settings"][0][key] = "sideways"
    with pytest.raises(jsonschema.ValidationError):
        valid(made)


def test_the_schema_asks_for_every_name_of_a_row() -> None:
    for key in plan_json.row(PLAN.changes[0]):
        made = plan_json.plan(PLAN)
        del made["settings"][0][key]
        with pytest.raises(jsonschema.ValidationError):
            valid(made)
