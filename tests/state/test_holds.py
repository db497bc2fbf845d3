from __future__ import annotations

import pytest
from fakes.rows import change, sysctl

from numatune.engine import holds
from numatune.errors import NumatuneError
from numatune.settings.applied import Hold
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, Status, differences

NOW = "2026-01-01T02:00:00Z"
KNOWN = ("sysctl:vm.swappiness", "sysctl:vm.dirty_bytes", "irq:0000:41:00.0/1", "irq:0000:41:00.0/2")


def held(id_: str, until: str = "2026-01-01T04:00:00Z", who: str = "alice") -> Hold:
    return Hold(id_, who, "2026-01-01T00:00:00Z", until)


def drifted(key: str, **fields: object) -> Change:
    return change(sysctl(key, "10", **fields), "60\n", Status.DRIFTED, Action.UPDATE, writes=("10",))


def test_an_ended_hold_is_no_hold_and_goes_when_others_are_written() -> None:
    old, new = held("a", until=NOW), held("b")
    assert holds.on(SettingId("a"), (old,), NOW) is None
    assert holds.hold((old,), (new,), NOW) == (new,)
    assert holds.unhold((old, new), {"b"}, NOW) == ()


def test_of_two_holds_on_one_setting_the_later_end_counts() -> None:
    every, one = held("*", until="2026-01-01T09:00:00Z"), held("a")
    assert holds.on(SettingId("a"), (one, every), NOW) == every


def test_a_new_hold_takes_the_place_of_the_old_one() -> None:
    assert holds.hold((held("a"),), (held("a", who="bob"),), NOW) == (held("a", who="bob"),)


def test_ids_are_named_outright_or_by_a_glob() -> None:
    assert holds.match(["irq:*", "sysctl:vm.swappiness"], KNOWN) == (KNOWN[0], KNOWN[2], KNOWN[3])


def test_every_unknown_id_is_told_at_once_with_what_may_be_meant() -> None:
    with pytest.raises(NumatuneError) as caught:
        holds.match(["sysctl:vm.swapiness", "thp:*", "irq:*"], KNOWN)
    first, second = str(caught.value).splitlines()
    assert "did you mean sysctl:vm.swappiness?" in first
    assert second.startswith("thp:*: is no setting of the applied set")


def test_apply_leaves_a_held_row_alone_and_does_not_count_it() -> None:
    rows = (drifted("vm.swappiness"), drifted("vm.dirty_bytes"))
    kept = holds.respect(rows, (held("sysctl:vm.swappiness"),), NOW)
    assert [(row.action, row.writes) for row in kept] == [(Action.NONE, ()), (Action.UPDATE, ("10",))]
    assert kept[0].reason == "held by alice until 2026-01-01 04:00:00 UTC"
    assert differences(rows) == 2
    assert differences(kept) == 1


def test_what_a_held_creation_would_bring_is_left_alone_too() -> None:
    parent = sysctl("cgroup", "here")
    child = drifted("child", needs=parent.id)
    made = change(parent, None, Status.DRIFTED, Action.CREATE)
    kept = holds.respect((made, child), (held(parent.id),), NOW)
    assert [row.action for row in kept] == [Action.NONE, Action.NONE]
    assert "sysctl:cgroup is held by alice" in kept[1].reason


def test_a_held_row_that_apply_cannot_change_anyway_is_not_counted_either() -> None:
    stuck = change(sysctl("vm.swappiness", "10"), None, Status.UNSUPPORTED, reason="no such file")
    (kept,) = holds.respect((stuck,), (held("*"),), NOW)
    assert (kept.reason, differences((kept,))) == ("no such file", 0)
    fine = change(sysctl("vm.swappiness", "10"), "10\n")
    assert holds.respect((fine,), (held("*"),), NOW) == (fine,)


def test_without_a_hold_in_force_the_plan_is_untouched() -> None:
    rows = (drifted("vm.swappiness"),)
    assert holds.respect(rows, (held("*", until=NOW),), NOW) == rows
