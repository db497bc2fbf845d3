"""Drift as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest
from fakes.rows import change, sysctl, thp

from numatune.settings.codecs import Int
from numatune.settings.drift import Drift, DriftRow
from numatune.settings.journal import LastSeen
from numatune.settings.plan import Action, Conflict, ProfileInfo, Status
from numatune.views import drift_json, drift_text, plan_json
from numatune.views.style import PLAIN, Style

SWAPPINESS = sysctl("vm.swappiness", "10")
MOVED = DriftRow(
    change(SWAPPINESS, "60\n", Status.DRIFTED, Action.UPDATE), "MM", LastSeen(Status.OK, "10\n"), counted=True
)
FINE = DriftRow(
    change(thp("madvise"), "always [madvise] never\n"), "  ", LastSeen(Status.OK, "always [madvise] never\n")
)
INFO = ProfileInfo("mine", "1", "abc")


def found(*rows: DriftRow, **fields: object) -> Drift:
    known = {"stored": True, "since": "2026-11-29T14:03:00Z", "run": 7, **fields}
    return Drift(rows, (INFO,), **known)  # type: ignore[arg-type]


def line(row: DriftRow) -> str:
    return drift_text.drift(found(replace(row, counted=True)), PLAIN).splitlines()[0]


def with_owner(row: DriftRow, *conflicts: Conflict) -> DriftRow:
    return replace(row, change=replace(row.change, seen=replace(row.change.seen, conflicts=conflicts)))


def test_a_clean_host_has_nothing_to_say() -> None:
    assert drift_text.drift(found(FINE), PLAIN) == ""
    assert drift_text.notes(found(FINE)) == []


def test_a_difference_is_one_line_and_the_last_line_says_from_what() -> None:
    assert drift_text.drift(found(MOVED, FINE), PLAIN).splitlines() == [
        "MM sysctl:vm.swappiness  10 → 60; apply would set 10",
        "1 difference from mine · applied 2026-11-29 14:03:00 UTC, run 7",
    ]


def test_every_row_is_shown_when_asked_for() -> None:
    assert (
        drift_text.drift(found(MOVED, FINE), PLAIN, verbose=True).splitlines()[1] == "   thp:enabled           madvise"
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (DriftRow(change(SWAPPINESS, None, Status.UNSUPPORTED, reason="no such file"), "D!", MOVED.last),
         "D! sysctl:vm.swappiness  10 → gone; wanted 10: no such file"),
        (DriftRow(change(SWAPPINESS, None, Status.DENIED, reason="cannot be read (EACCES)"), " !", MOVED.last),
         " ! sysctl:vm.swappiness  unknown; wanted 10: cannot be read (EACCES)"),
        (DriftRow(change(sysctl("cgroup", "here"), None, Status.DRIFTED, Action.CREATE), "-A"),
         "-A sysctl:cgroup  nothing; apply would make it"),
        (DriftRow(change(sysctl("vm.swappiness", "60"), "10\n", Status.DRIFTED, Action.RELEASE), " X", MOVED.last),
         " X sysctl:vm.swappiness  10; no longer wanted: apply would give 60 back"),
        (DriftRow(change(sysctl("a", "7", codec=Int(op=">=")), "9", Status.DRIFTED, Action.RELEASE), " X", MOVED.last),
         " X sysctl:a  9; no longer wanted: apply would give 7 back"),
        (DriftRow(change(sysctl("file", None), "a\n", Status.DRIFTED, Action.RELEASE), " X", MOVED.last),
         " X sysctl:file  a; no longer wanted: apply would take it away"),
        (replace(MOVED, note="put back 3 times"),
         "MM sysctl:vm.swappiness  10 → 60; apply would set 10, put back 3 times"),
        (replace(MOVED, repaired=True),
         "MM sysctl:vm.swappiness  10 → 60; put back to 10"),
    ],
)  # fmt: skip
def test_what_is_told_of_a_row(row: DriftRow, expected: str) -> None:
    assert line(row) == expected


def test_who_else_sets_it_is_told_on_the_same_line() -> None:
    row = with_owner(MOVED, Conflict("tuned", "pid 812"), Conflict("sysctl.d", "/etc/sysctl.d/9.conf:1", "60"))
    told = "also set by tuned (pid 812), also set to 60 by sysctl.d (/etc/sysctl.d/9.conf:1)"
    assert line(row) == f"MM sysctl:vm.swappiness  10 → 60; apply would set 10, {told}"


def test_a_long_value_stays_on_one_line() -> None:
    text = "first\nsecond " + "x" * 200
    assert "\n" not in line(DriftRow(change(SWAPPINESS, text, Status.DRIFTED, Action.UPDATE), "-M"))


def test_a_held_row_is_shown_and_said_to_be_held() -> None:
    held = replace(
        MOVED, change=replace(MOVED.change, action=Action.NONE, held="held by alice"), letters="M!", counted=False
    )
    assert drift_text.drift(found(held), PLAIN).splitlines() == [
        "M! sysctl:vm.swappiness  10 → 60; wanted 10, held by alice",
        "0 differences from mine · 1 on hold · applied 2026-11-29 14:03:00 UTC, run 7",
    ]


def test_letters_have_colour_where_there_is_any() -> None:
    text = drift_text.drift(found(MOVED), Style(colour=True, unicode=False))
    assert text.startswith("\x1b[33mM\x1b[0m\x1b[33mM\x1b[0m sysctl:vm.swappiness  10 -> 60")


def test_what_must_be_known_to_read_the_rows() -> None:
    assert drift_text.notes(found(MOVED, anew="other CPUs", rebooted=True)) == [
        "other CPUs: values were worked out anew from the stored profile",
        "the host was restarted since the last apply",
    ]


def test_a_repair_in_a_log_names_who_else_sets_it() -> None:
    row = with_owner(MOVED, Conflict("tuned", "pid 812"))
    assert drift_text.repaired(row) == "put back sysctl:vm.swappiness: 60 -> 10; also set by tuned (pid 812)"


def test_rows_are_those_of_a_plan_with_letters() -> None:
    document = drift_json.drift(found(MOVED, FINE, rebooted=True))
    assert json.loads(json.dumps(document)) == document
    schema = json.loads(plan_json.schema())
    for row in document["settings"]:
        jsonschema.validate(row, {**schema["$defs"]["row"], "$defs": schema["$defs"]})
    moved, fine = document["settings"]
    assert {key: moved[key] for key in ("letters", "counted", "last", "held", "repaired", "note")} == {
        "letters": "MM",
        "counted": True,
        "last": {"status": "ok", "held": "10"},
        "held": "",
        "repaired": False,
        "note": "",
    }
    assert (fine["letters"], fine["counted"]) == ("  ", False)
    assert document["summary"]["differences"] == 1
    assert (document["applied"], document["rebooted"]) == ({"when": "2026-11-29T14:03:00Z", "run": 7}, True)


def test_a_profile_that_was_never_applied_has_no_last_apply() -> None:
    document = drift_json.drift(found(DriftRow(MOVED.change, "-M"), stored=False, since="", run=0))
    assert (document["applied"], document["compared_with"], document["settings"][0]["last"]) == (None, "profile", None)
