"""The module numatune_profile, by both series of ansible-core, against a program that answers as a case file says.

A case: `arguments` of the task, `check` mode, `answers` by command (exit code, rows, or the whole document as `says`),
what the program has to have been `asked`, and the `result`, of which other keys may be more.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import debian
import jsonschema
import playing
import pytest
import yaml

from numatune.views import plan_json

if TYPE_CHECKING:
    from playing import Json

HERE = Path(__file__).parent
CASES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((HERE / "cases").glob("*.yaml"))}
ROW = {
    "section": "x",
    "action": "none",
    "effective": None,
    "why": "",
    "source": None,
    "reason": "",
    "held": "",
    "impact": "live",
    "note": "",
    "undo": "exact",
    "restart_needed": [],
    "optional": None,
    "conflicts": [],
    "not_reached": [],
}
OUTCOME = {"before": None, "changed": False, "errno": None}
SCHEMA = json.loads(plan_json.schema())
HEAD = {
    "format": 1,
    "profile": "site",
    "profiles": [{"name": "site", "version": "", "hash": "00"}],
    "host": {"root": "/", "kernel": "6", "arch": "x", "nodes": "0", "cpus": "0", "boot_id": "", "fingerprint": ""},
    "notes": [],
}


@pytest.fixture(scope="module", params=debian.SERIES)
def results(request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """What the module said in each case, and what it asked: all of them in one play, which is quicker."""
    with playing.host([root], tmp_path_factory.mktemp("cases")) as host:
        for name, case in CASES.items():
            stub = host.guest.path(f"/mnt/stubs/{name}")
            shutil.copytree(HERE / "stub", stub)
            answers = {command: answer(command, **told) for command, told in case["answers"].items()}
            (stub / "answers.json").write_text(json.dumps(answers))
        played = host.play([task(name, case) for name, case in CASES.items()], series=request.param)
        asked = {name: (host.guest.path(f"/mnt/stubs/{name}") / "asked.jsonl").read_text() for name in CASES}
    calls = {name: [json.loads(line) for line in text.splitlines()] for name, text in asked.items()}
    return {row.task: {**row.result, "failed": row.status != "ok", "calls": calls[row.task]} for row in played.rows}


def task(name: str, case: Json) -> Json:
    """A case as a task."""
    arguments = {**case["arguments"], "executable": f"/mnt/stubs/{name}/numatune"}
    check = bool(case.get("check"))
    return {"name": name, "numatune_profile": arguments, "check_mode": check, "diff": True, "ignore_errors": True}


def answer(command: str, *, code: int = 0, says: Any = None, remarks: str = "", **document: Any) -> Json:
    """What the program says to a command; what it says as a plan's or a report's document has to be one."""
    if says is None:
        done = "run" in document
        rows = [{**ROW, **(OUTCOME if done else {}), **row} for row in document.pop("rows")]
        summary = {"settings": len(rows), "differences": 0, "changes": 0, "by_status": {}}
        says = {**HEAD, **document, "settings": rows, "summary": summary}
        if command == "rollback":
            says = {"spared": [], **says}
        elif done:
            says = {"taken_back_by": None, **says}
        jsonschema.validate(says, SCHEMA)
    return {"code": code, "says": says, "remarks": remarks}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, results: dict[str, Json]) -> None:
    case, found = CASES[name], results[name]
    assert {key: found.get(key) for key in case["result"]} == case["result"]
    assert found["failed"] == case["result"].get("failed", False)
    assert [call["argv"] for call in found["calls"]] == case["asked"]
    assert found["calls"][0]["profiles"] == case.get("profiles", {})


@pytest.mark.parametrize("series", debian.SERIES)
def test_without_numatune(root: Path, tmp_path: Path, series: str) -> None:
    with playing.host([root], tmp_path) as host:
        present = {"numatune_profile": {"profiles": ["site"]}, "ignore_errors": True}
        absent = {"numatune_profile": {"state": "absent"}, "ignore_errors": True}
        played = host.play([present, absent, {**present, "check_mode": True}], series=series)
        refused, nothing, foreseen = [row.result for row in played.rows]
        assert "no numatune on this host" in refused["msg"]
        assert (nothing["changed"], nothing["complete"]) == (False, True)
        assert (foreseen["changed"], foreseen["installed"]) == (True, False)
        applied = host.guest.path("/var/lib/numatune/applied.json")
        applied.parent.mkdir(parents=True)
        applied.touch()
        (left,) = host.play([absent], series=series).rows
        assert "install it first" in left.result["msg"]
