from __future__ import annotations

from fakes.rows import change, sysctl

from numatune.settings.codecs import Int
from numatune.settings.history import PastRow, PastRun, RunState
from numatune.settings.journal import RunEnd, RunStart
from numatune.settings.plan import Action, HostInfo, Outcome, Plan, ProfileInfo, Status
from numatune.views import history_json, history_text, rollback_json, rollback_text
from numatune.views.style import Style

STYLE = Style(width=120)
PROFILE = ProfileInfo("web", "3", "0123456789ab")
SETTING = sysctl("vm.min_free_kbytes", "100", codec=Int(">="), why="room for bursts")
HOST = HostInfo("/", "6.18", "x86_64", "0", "0-1", "boot", "")


def past(number: int, state: RunState, **fields: object) -> PastRun:
    start = RunStart(number, "apply", "2026-11-29T14:03:00Z", "alice", 7, "boot", (PROFILE,), "ticket 7")
    end = None if state == "cut off" else RunEnd("done", 4, ("sysctl:a.b",) if number == 1 else ())
    return PastRun(start, end, state, **fields)  # type: ignore[arg-type]


def test_runs_are_told_newest_first_and_what_became_of_them() -> None:
    text = history_text.runs([past(1, "taken back", taken_back_by=3), past(2, "cut off")], STYLE)
    lines = text.splitlines()
    assert lines[1].split()[:6] == ["2", "2026-11-29", "14:03:00", "alice", "apply", "?"]
    assert "cut off" in lines[1]
    assert "4        taken back by 3  web 3 (01234567)  # ticket 7" in lines[2]
    assert len({line.index("apply") for line in lines[1:]}) == 1


def test_no_runs_is_a_sentence() -> None:
    assert history_text.runs([], STYLE).startswith("No runs")


def test_one_run_tells_its_rows() -> None:
    rows = [
        PastRow(SETTING, Action.UPDATE, "67584\n", "100\n", repairs=("a", "b")),
        PastRow(sysctl("vm.x", "1"), Action.UPDATE, "0\n", "0\n", errno=22),
        PastRow(sysctl("vm.beside", None), Action.NONE, "1\n", "2\n"),
    ]
    text = history_text.run(past(1, "in force"), rows, STYLE)
    assert "  why         ticket 7" in text
    assert "  spared      sysctl:a.b" in text
    assert "sysctl:vm.min_free_kbytes  67584 → 100  put back since: 2 times" in text
    assert "sysctl:vm.x                0 → 0  (EINVAL)" in text
    assert "sysctl:vm.beside           1 → 2  beside it" in text


def test_history_for_programs() -> None:
    made = history_json.runs([past(1, "cut off")], [PastRow(SETTING, Action.UPDATE, "67584\n", None, errno=22)])
    assert made["runs"][0]["state"] == "cut off"
    assert made["runs"][0]["changed"] is None
    assert made["settings"][0] == {
        "id": "sysctl:vm.min_free_kbytes",
        "section": "sysctl",
        "action": "update",
        "before": "67584",
        "held": None,
        "errno": "EINVAL",
        "repairs": [],
    }


BACK = change(SETTING, "100\n", Status.DRIFTED, Action.UPDATE)
PLAN = Plan((PROFILE,), HOST, (BACK,))


def outcomes(status: Status, held: str) -> dict[object, Outcome]:
    return {SETTING.id: Outcome(SETTING.id, status, "67584\n", (), held, changed=held != "67584\n")}


def test_an_original_is_a_value_and_no_bound() -> None:
    text = rollback_text.proposal([1], PLAN, [("sysctl:a.b", "somebody set it to 5 since")], STYLE)
    assert "~ vm.min_free_kbytes  100 → 100" in text
    assert ">=" not in text
    assert "room for bursts" not in text
    assert "! sysctl:a.b: somebody set it to 5 since" in text
    assert text.endswith("1 to give back · 1 spared")


def test_a_rollback_says_what_it_could_not_give_back() -> None:
    text = rollback_text.report([1, 2], PLAN, outcomes(Status.FAILED, "67584\n"), [], STYLE)  # type: ignore[arg-type]
    assert text.startswith("Taken back: runs 1, 2 of web 3 (01234567)")
    assert "✗ vm.min_free_kbytes" in text
    assert "numatune rollback tries again" in text
    assert text.endswith("0 given back · 1 not given back")


def test_a_rollback_for_programs() -> None:
    made = rollback_json.report([1], PLAN, outcomes(Status.OK, "100\n"), [("sysctl:a.b", "moved")], 2)  # type: ignore[arg-type]
    assert (made["run"], made["takes_back"]) == (2, [1])
    assert made["settings"][0]["wanted"] == "100"
    assert made["spared"] == [{"id": "sysctl:a.b", "reason": "moved"}]
    assert made["summary"] == {"settings": 1, "given_back": 1, "spared": 1}
