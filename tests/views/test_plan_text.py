from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.rows import change, sysctl, thp

from numatune.settings.codecs import CpuList, Int, UnitSet
from numatune.settings.model import Impact, Setting, SettingId, Source
from numatune.settings.plan import Action, Change, Conflict, HostInfo, Outcome, Plan, ProfileInfo, Status
from numatune.views import plan_text
from numatune.views.rows import _ACTIONS, _STATUSES
from numatune.views.style import Style

HOST = HostInfo("/", "6.18.1", "x86_64", "0-1", "0-95", "boot", "print")
WIDE, NARROW = Style(width=140), Style(width=80)
SGR = re.compile(r"\033\[[0-9;]*m")


def plan(*changes: Change) -> Plan:
    return Plan((ProfileInfo("llm-inference", "2026.11.1", "3f9a01c2aabbccdd"),), HOST, changes)


def interrupt(index: int, wanted: str, now: str, status: Status = Status.DRIFTED) -> Change:
    setting = sysctl("x", wanted, codec=CpuList(), section="irq", family="0000:41:00.0 eth0")
    setting = replace(setting, id=SettingId(f"irq:0000:41:00.0/{index}"))
    action = Action.UPDATE if status is Status.DRIFTED else Action.NONE
    return change(setting, now, status, action)


def swappiness(**fields: object) -> Change:
    return change(
        sysctl("vm.swappiness", "10", why="keep the cache small"), "60\n", Status.DRIFTED, Action.UPDATE, **fields
    )


def shown(*changes: Change, style: Style = WIDE, verbose: bool = False) -> str:
    return plan_text.plan(plan(*changes), style, again="llm-inference", verbose=verbose)


def test_a_change_is_one_line_with_both_values_and_the_reason() -> None:
    assert "  ~ vm.swappiness  60 → 10  keep the cache small" in shown(swappiness()).splitlines()


def test_the_head_names_profile_version_hash_and_host() -> None:
    head = shown(swappiness()).splitlines()[:2]
    assert head == [
        "Plan: llm-inference 2026.11.1 (3f9a01c2)",
        "on this host: Linux 6.18.1 x86_64, nodes 0-1, CPUs 0-95",
    ]


def test_notes_that_no_row_tells_stand_at_the_top() -> None:
    row = change(sysctl("a.b", "1", note="told below"), "0", Status.DRIFTED, Action.UPDATE)
    text = plan_text.plan(replace(plan(row), notes=("told below", "x: 2 (b:1) takes the place of 1 (a:1)")), WIDE)
    assert text.splitlines()[2] == "note: x: 2 (b:1) takes the place of 1 (a:1)"
    assert text.count("told below") == 1


def test_a_host_without_numa_is_said() -> None:
    made = replace(plan(swappiness()), host=replace(HOST, nodes="", root="tree.tar"))
    text = plan_text.plan(made, WIDE, again="p", captured="host.tar.xz")
    assert "on tree.tar: Linux 6.18.1 x86_64, no NUMA nodes, CPUs 0-95" in text
    assert "Make it so on that host with: sudo numatune apply p" in text


def test_rows_as_wanted_are_told_only_when_asked() -> None:
    held = change(sysctl("vm.zone_reclaim_mode", "0"), "0\n")
    assert "zone_reclaim" not in shown(held)
    assert "✓ vm.zone_reclaim_mode  0" in shown(held, verbose=True)
    assert shown(held).endswith("0 to change · 1 ok\nNothing to do.")


def test_a_family_folds_and_unfolds() -> None:
    queues = [interrupt(n, str(n), "0-95") for n in range(1, 33)]
    folded = shown(*queues)
    assert "~ 0000:41:00.0 eth0 (32)  0-95 → in 1-32" in folded
    assert "32 to change" in folded
    assert "~ 0000:41:00.0/17" in shown(*queues, verbose=True)


def test_a_family_folds_by_what_becomes_of_it() -> None:
    managed = [interrupt(n, "0", "0-3", Status.UNCHANGEABLE) for n in (40, 41)]
    text = shown(interrupt(1, "0", "0-3"), interrupt(2, "0", "0-3"), *managed)
    assert "~ 0000:41:00.0 eth0 (2)  0-3 → 0" in text
    assert "· 0000:41:00.0 eth0 (2)  0-3 (wanted 0)  unchangeable" in text


def test_a_bound_is_told_with_its_operator() -> None:
    row = change(sysctl("vm.min_free_kbytes", "2097152", codec=Int(">=")), "67584\n", Status.DRIFTED, Action.UPDATE)
    assert "67584 → >= 2097152" in shown(row)


def test_what_disrupts_is_marked_and_the_flag_named() -> None:
    row = change(
        sysctl("x.y", "1"),
        "0",
        Status.DRIFTED,
        Action.NONE,
        impact=Impact.DISRUPTS,
        reason="would disrupt running work",
    )
    text = shown(row)
    assert "! x.y  0 (wanted 1)  held back: would disrupt running work" in text
    assert "sudo numatune apply llm-inference --allow-disruption" in text
    assert "0 to change · 1 held back" in text


def test_what_disrupts_and_was_allowed_is_marked() -> None:
    row = change(sysctl("x.y", "1"), "0", Status.DRIFTED, Action.UPDATE, impact=Impact.DISRUPTS)
    assert "~ x.y  0 → 1  disrupts running work" in shown(row)
    row = replace(row, seen=replace(row.seen, users=("vllm.service (12 python3)", "ray.service (40 ray)")))
    assert "felt by: vllm.service (12 python3), ray.service (40 ray)" in shown(row)


def test_a_set_that_is_empty_reads_as_none() -> None:
    row = change(sysctl("x.slice/cpus", "2-3", codec=UnitSet()), "", Status.DRIFTED, reason="not now")
    assert "! x.slice/cpus  none (wanted 2-3)  held back: not now" in shown(row)


def test_a_row_on_hold_says_whose_hold_it_is() -> None:
    row = change(sysctl("x.y", "1"), "0", Status.DRIFTED, Action.NONE, held="until noon by alice")
    assert "! x.y  0 (wanted 1)  on hold: until noon by alice" in shown(row)
    assert "0 to change · 1 on hold" in shown(row)


def test_a_guarded_row_names_its_override() -> None:
    row = change(sysctl("vm.min_free_kbytes", "9"), "1", Status.DRIFTED, reason="over 5 % of RAM")
    row = replace(row, seen=replace(row.seen, unsafe="over 5 % of RAM"))
    assert "sudo numatune apply llm-inference --allow-unsafe sysctl:vm.min_free_kbytes" in shown(row)


def test_new_processes_notes_conflicts_and_undo_are_announced() -> None:
    setting = thp("madvise", note="raises vm.min_free_kbytes", undo="nearest")
    row = change(setting, "[always] madvise never\n", Status.DRIFTED, Action.UPDATE, impact=Impact.NEW_PROCESSES)
    row = replace(row, restart_needed=("vllm.service",))
    row = replace(row, seen=replace(row.seen, conflicts=(Conflict("tuned", "pid 812", "always"),)))
    text = shown(row, style=NARROW)
    for part in (
        "always → madvise",
        "new processes only",
        "note: raises vm.min_free_kbytes",
        "rollback comes near the original",
        "conflict: tuned sets it to always (pid 812)",
        "keeps its old state until restarted: vllm.service",
    ):
        assert part in text


def test_what_is_not_there_says_why_and_points_to_explain() -> None:
    row = change(sysctl("kernel.numa_balancing", "0"), None, Status.UNSUPPORTED, reason="this kernel has none")
    text = shown(row)
    assert "? kernel.numa_balancing  wanted 0  unsupported: this kernel has none" in text
    assert text.endswith("numatune explain sysctl:kernel.numa_balancing --profile llm-inference")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_no_prose_is_wider_than_the_terminal(width: int) -> None:
    why = "room for bursts of atomic allocations by NIC drivers, capped at a share of the smallest node"
    rows = [swappiness(), change(sysctl("vm.min_free_kbytes", "2097152", why=why), "1", Status.DRIFTED, Action.UPDATE)]
    lines = shown(*rows, style=Style(width=width)).splitlines()
    assert all(len(line) <= width for line in lines if "sudo" not in line)
    assert any("smallest node" in " ".join(lines[n : n + 2]) for n in range(len(lines)))


def test_columns_line_up_whatever_the_colour() -> None:
    rows = [swappiness(), change(thp("madvise"), "[always] madvise never\n", Status.DRIFTED, Action.UPDATE)]
    coloured = shown(*rows, style=Style(colour=True, width=140))
    assert SGR.search(coloured)
    assert SGR.sub("", coloured) == shown(*rows)
    starts = [
        line.index(f"{value} →") for line in shown(*rows).splitlines() for value in ("60", "always") if value in line
    ]
    assert len(starts) == len(rows)
    assert len(set(starts)) == 1


def test_a_terminal_without_unicode_gets_ascii() -> None:
    text = shown(swappiness(), interrupt(1, "0", "1", Status.UNCHANGEABLE), style=Style(unicode=False))
    assert text.isascii()
    assert "60 -> 10" in text


def test_text_from_a_host_moves_no_cursor() -> None:
    row = change(sysctl("x.y", "1"), None, Status.UNSUPPORTED, reason="evil\033[2Jname\a")
    assert "evil?[2Jname?" in shown(row)


def test_every_status_and_action_has_a_symbol() -> None:
    assert set(_STATUSES) == set(Status)
    assert set(_ACTIONS) == set(Action)


def outcome(setting: Setting, before: str, held: str, status: Status = Status.OK, errno: int = 0) -> Outcome:
    return Outcome(setting.id, status, before, (), held, errno, changed=before != held)


def test_a_report_tells_what_was_held_and_how_to_take_it_back() -> None:
    first, second = swappiness(), change(sysctl("vm.nr_hugepages", "512"), "0", Status.DRIFTED, Action.UPDATE)
    done = {
        first.setting.id: outcome(first.setting, "60\n", "10\n"),
        second.setting.id: outcome(second.setting, "0\n", "300\n", Status.CLAMPED),
    }
    text = plan_text.report(plan(first, second), done, WIDE, run=7)
    assert "✓ vm.swappiness    60 → 10" in text
    assert "≈ vm.nr_hugepages  0 → 300 (wanted 512)  clamped" in text
    assert text.endswith("2 changed · 1 clamped · 1 ok\nTake run 7 back with: sudo numatune rollback")


def test_a_report_of_what_is_not_there_yet_tells_what_is_wanted() -> None:
    row = change(sysctl("partition", "root"), None, Status.PENDING, reason="later")
    done = {row.setting.id: Outcome(row.setting.id, Status.PENDING, None, (), None, reason="later")}
    assert "… partition  none (wanted root)  pending: later" in plan_text.report(plan(row), done, WIDE, run=7)


def test_a_report_of_nothing_offers_no_rollback() -> None:
    text = plan_text.report(plan(change(sysctl("a.b", "1"), "1")), {}, WIDE, run=None)
    assert text.endswith("0 changed · 1 ok\nNothing was to do.")


def test_the_source_is_told_when_more_is_asked_for() -> None:
    setting = replace(swappiness().setting, source=Source("mine.yaml", 4))
    assert "[mine.yaml:4]" in shown(replace(swappiness(), setting=setting), verbose=True)


def test_a_family_dealt_anew_within_one_set_does_not_read_as_no_change() -> None:
    text = shown(interrupt(0, "2", "3\n"), interrupt(1, "3", "2\n"))
    assert "0000:41:00.0 eth0 (2)  in 2-3, shared out anew" in text
    assert "→" not in text


def test_the_same_cpus_shared_out_or_no_longer_so_do_not_read_as_no_change() -> None:
    row = "0000:41:00.0 eth0 (2)"
    assert f"{row}  2-3 → in 2-3, shared out" in shown(interrupt(0, "2", "2-3\n"), interrupt(1, "3", "2-3\n"))
    assert f"{row}  in 2-3 → 2-3, each on all" in shown(interrupt(0, "2-3", "2\n"), interrupt(1, "2-3", "3\n"))


SCATTERED = "0-3,8-11,16-19,24-27,32-35,40-43"


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (SCATTERED, "0-3,8-11,…,40-43"),
        ("0-1,1024-1031,2048-2055", "0-1,…,2048-2055"),
        ("0-1,10000000000000000,20000000000000000", "0-1,…"),
        ("4096 131072 6291456 8388608", "4096 … 8388608"),
        ("a-word-without-any-entry", "a-word-wit…any-entry"),
        ("0-3,8-11,16-19", "0-3,8-11,16-19"),
    ],
)
def test_a_long_value_is_cut_between_entries_and_the_cut_is_seen(text: str, cut: str) -> None:
    value = change(sysctl("x.y", text), "0", Status.DRIFTED, Action.UPDATE)
    assert f"~ x.y  0 → {cut}\n" in plan_text.plan(plan(value), Style(width=80), again="p")
    assert f"0 → {text}\n" in plan_text.plan(plan(value), Style(width=80), again="p", verbose=True)
