"""A drift check as metrics, and the alerts that are made of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.rows import change, sysctl, thp

from numatune.settings.drift import Drift, DriftRow
from numatune.settings.plan import Action, ProfileInfo, Status
from numatune.views.drift_prometheus import Check, Last, last, page, settings

RULES = Path(__file__).parents[2] / "docs/alerts/numatune.rules.yml"
SWAPPINESS = sysctl("vm.swappiness", "10")
FINE = DriftRow(change(SWAPPINESS, "10"), "  ")
MOVED = DriftRow(change(SWAPPINESS, "60", Status.DRIFTED, Action.UPDATE), "MM", counted=True)
RESET = DriftRow(change(thp("madvise"), "always", Status.DRIFTED, Action.UPDATE), "RM", counted=True)
WAITS = DriftRow(change(sysctl("iommu", "pt"), "", Status.REBOOT), " !")
HELD = replace(MOVED, change=replace(MOVED.change, held="held by alice"), counted=False)
CHECK = Check(version="0.1.0", ran=1795992862.5, seconds=0.0612, succeeded=1795992862.5, repairs=3)

LINE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (?P<value>[0-9.]+)')
"""Of a sample in Prometheus' text format 0.0.4, as far as we write it."""


def found(*rows: DriftRow, **fields: Any) -> Drift:
    known = {"stored": True, "since": "2026-11-29T14:03:00Z", "run": 7, **fields}
    return Drift(rows, (ProfileInfo("mine", "1", "abc"),), **known)


def samples(text: str) -> dict[str, str]:
    """Every line that is no comment must be a sample; name and labels -> value."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    parsed = [LINE.fullmatch(line) for line in lines]
    assert all(parsed), lines
    made = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines}
    assert len(made) == len(lines)
    return made


def test_a_page_has_help_and_type_before_every_metric_and_ends_with_a_new_line() -> None:
    text = page(CHECK, settings(found(FINE, WAITS)))
    names = [name.split("{")[0] for name in samples(text)]
    for name in dict.fromkeys(names):
        helped, typed = f"# HELP {name} ", f"# TYPE {name} "
        assert 0 <= text.index(helped) < text.index(typed) < re.search(rf"^{name}[ {{]", text, re.MULTILINE).start()  # type: ignore[union-attr]
        assert text.count(helped) == text.count(typed) == 1
    assert text.endswith("\n")


def test_what_a_check_says_of_itself() -> None:
    made = samples(page(CHECK))
    assert made == {
        'numatune_build_info{version="0.1.0"}': "1",
        "numatune_check_success": "1",
        "numatune_check_last_run_timestamp_seconds": "1795992862.5",
        "numatune_check_last_success_timestamp_seconds": "1795992862.5",
        "numatune_check_duration_seconds": "0.061",
        "numatune_check_repairs_total": "3",
    }


def test_a_failed_check_knows_nothing_of_the_host_but_when_it_last_did() -> None:
    made = samples(page(replace(CHECK, failed=True, succeeded=1795990000.0)))
    assert made["numatune_check_success"] == "0"
    assert made["numatune_check_last_success_timestamp_seconds"] == "1795990000"
    assert not [name for name in made if name.startswith(("numatune_drift", "numatune_reboot", "numatune_applied"))]


def test_a_time_that_nobody_knows_is_no_zero() -> None:
    text = page(replace(CHECK, failed=True, succeeded=None))
    assert "last_success" not in text


def test_settings_are_counted_by_what_the_host_holds() -> None:
    made = samples(settings(found(FINE, MOVED, RESET, HELD)))
    assert {name: value for name, value in made.items() if name.startswith("numatune_drift")} == {
        'numatune_drift_settings{section="sysctl",status="drifted",since_apply="moved"}': "2",
        'numatune_drift_settings{section="sysctl",status="ok",since_apply="same"}': "1",
        'numatune_drift_settings{section="thp",status="drifted",since_apply="reset"}': "1",
        'numatune_drift_differences{section="sysctl"}': "1",
        'numatune_drift_differences{section="thp"}': "1",
        "numatune_drift_held": "1",
    }


def test_a_section_without_differences_is_a_zero() -> None:
    assert samples(settings(found(FINE)))['numatune_drift_differences{section="sysctl"}'] == "0"


@pytest.mark.parametrize(
    ("row", "waits"),
    [
        (FINE, "0"),
        (WAITS, "1"),
        (replace(WAITS, change=replace(WAITS.change, setting=replace(WAITS.change.setting, optional=True))), "0"),
    ],
)
def test_a_reboot_is_required_by_what_counts(row: DriftRow, waits: str) -> None:
    assert samples(settings(found(FINE, row)))["numatune_reboot_required"] == waits


def test_what_is_applied_and_since_when() -> None:
    made = samples(settings(found(FINE)))
    assert made['numatune_applied_info{profile="mine",version="1",hash="abc"}'] == "1"
    assert made["numatune_applied_timestamp_seconds"] == "1795960980"  # date -ud 2026-11-29T14:03:00 +%s


def test_a_label_cannot_end_early() -> None:
    odd = replace(found(FINE), profiles=(ProfileInfo("mine", 'a"} 1\nevil{b="\\', "abc"),))
    (name,) = (name for name in samples(settings(odd)) if "applied_info" in name)
    assert name == r'numatune_applied_info{profile="mine",version="a\"} 1\nevil{b=\"\\",hash="abc"}'


def test_the_next_check_reads_what_it_must_know() -> None:
    held = settings(found(FINE, WAITS))
    assert last(page(CHECK, held, "12-34-56")) == Last(1795992862.5, 3, "12-34-56", held)
    assert last(page(CHECK, held)) == Last(1795992862.5, 3, "", held)
    assert last(page(replace(CHECK, failed=True, succeeded=7.0))) == Last(7.0, 3)


@pytest.mark.parametrize(
    "text", ["", "nonsense\n", "numatune_check_repairs_total many\n", "# What the host held, look"]
)
def test_what_is_no_page_tells_nothing(text: str) -> None:
    assert last(text) == Last()


def test_alerts_name_only_metrics_that_there_are() -> None:
    written = page(CHECK, settings(found(FINE, MOVED, WAITS)))
    known = set(re.findall(r"^# TYPE (\S+)", written, re.MULTILINE))
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert [set(group) for group in groups] == [{"name", "rules"}]
    for rule in rules:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert {"alert", "expr", "labels", "annotations"} <= set(rule)
        named = set(re.findall(r"\bnumatune_\w+", rule["expr"]))
        assert named
        assert named <= known
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "1m"))
    names = [rule["alert"] for rule in rules]
    assert len(names) == len(set(names))
    assert {"NumatuneDrift", "NumatuneCheckFailed", "NumatuneCheckStale", "NumatuneRebootRequired"} <= set(names)
