"""What would be done: every status and what allows, holds back or remembers it. And the promises, whatever is asked."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fakes import forty
from fakes.forty import NIC, sysctl
from fakes.journal import MemoryJournal, start
from fakes.rows import owned_file
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.settings.codecs import Choice, CpuList
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Remembered, Status, counts
from numatune.settings.targets import Cgroup, IrqAffinity, KernelFile

SETTING = sysctl("vm.swappiness", "10")
GROUP = Setting(
    id=SettingId("cgroup:a"), target=Cgroup("/c/a"), codec=Choice(), want="here", phase=Phase.CGROUP, section="c"
)
INSIDE = Setting(
    id=SettingId("cpuset:a"),
    target=KernelFile(("/c/a/cpuset.cpus",)),
    codec=CpuList(),
    want="0-1",
    phase=Phase.CGROUP,
    section="c",
    needs=GROUP.id,
)
IRQ = Setting(
    id=SettingId("irq:x/0"), target=IrqAffinity(NIC, 0), codec=CpuList(), want="0-3", phase=Phase.IRQ, section="irq"
)


def one(setting: Setting, seen: Observation, options: Options | None = None, known: Remembered | None = None) -> Change:
    (change,) = diff([setting], {setting.id: seen}, options or Options(), {setting.id: known} if known else {})
    return change


@pytest.mark.parametrize(
    ("setting", "seen", "status", "action"),
    [
        (SETTING, Observation("10\n"), Status.OK, Action.NONE),
        (SETTING, Observation("60\n"), Status.DRIFTED, Action.UPDATE),
        (SETTING, Observation("not a number\n"), Status.DRIFTED, Action.UPDATE),
        (SETTING, Observation(None, errno.ENOENT), Status.UNSUPPORTED, Action.NONE),
        (SETTING, Observation(None, errno.EACCES), Status.DENIED, Action.NONE),
        (SETTING, Observation(None, errno.EPERM), Status.DENIED, Action.NONE),
        (SETTING, Observation(None, errno.EIO), Status.FAILED, Action.NONE),
        (SETTING, Observation("60\n", errno.EROFS, writable=False), Status.DENIED, Action.NONE),
        (SETTING, Observation("60\n", errno.EACCES, writable=False), Status.DENIED, Action.NONE),
        (SETTING, Observation("60\n", writable=False), Status.DENIED, Action.NONE),
        (SETTING, Observation("60\n", hands_off="not ours"), Status.DRIFTED, Action.NONE),
        (IRQ, Observation("0-7\n", errno.EPERM, writable=False), Status.UNCHANGEABLE, Action.NONE),
        (IRQ, Observation("0-7\n", errno.EROFS, writable=False), Status.DENIED, Action.NONE),
        (IRQ, Observation("0-3\n", errno.EPERM, writable=False), Status.OK, Action.NONE),
        (IRQ, Observation("0-3\n", pending=True, effective="7"), Status.PENDING, Action.NONE),
        (IRQ, Observation("0-3\n", effective="2"), Status.OK, Action.NONE),
        (GROUP, Observation(None, errno.ENOENT), Status.DRIFTED, Action.CREATE),
        (GROUP, Observation(None, errno.EROFS, writable=False), Status.DENIED, Action.NONE),
        (GROUP, Observation("here"), Status.OK, Action.NONE),
        (owned_file("/x", "text"), Observation(None, errno.ENOENT), Status.DRIFTED, Action.CREATE),
        (replace(SETTING, want=None), Observation("60\n"), Status.OK, Action.NONE),
    ],
)
def test_status_and_action(setting: Setting, seen: Observation, status: Status, action: Action):
    change = one(setting, seen)
    assert (change.status, change.action) == (status, action)
    assert change.writes == () or change.action is not Action.NONE


def test_what_its_group_will_bring_is_drifted():
    seen = {GROUP.id: Observation(None, errno.ENOENT), INSIDE.id: Observation(None, errno.ENOENT)}
    for order in ([GROUP, INSIDE], [INSIDE, GROUP]):
        group, inside = diff(order, seen, Options())
        assert (group.action, inside.action, inside.writes) == (Action.CREATE, Action.UPDATE, ("0-1",))
        assert inside.reason == "is there once cgroup:a is"


@pytest.mark.parametrize(
    ("seen", "status"),
    [
        (Observation(None, errno.EROFS, writable=False), Status.DENIED),
        (Observation(None, errno.ENOENT, unsafe="too much"), Status.DRIFTED),
        (Observation("here"), Status.UNSUPPORTED),
    ],
)
def test_what_its_group_will_not_bring_waits_or_is_not_there(seen: Observation, status: Status):
    _, inside = diff([GROUP, INSIDE], {GROUP.id: seen, INSIDE.id: Observation(None, errno.ENOENT)}, Options())
    assert (inside.status, inside.action) == (status, Action.NONE)


def test_unsafe_is_not_written_without_leave_for_just_that():
    seen = Observation("60\n", unsafe="9 of 10 GiB")
    change = one(SETTING, seen, Options(allow_disruption=True, allow_unsafe=frozenset({"another"})))
    assert (change.status, change.action, change.writes) == (Status.DRIFTED, Action.NONE, ())
    assert change.reason == "9 of 10 GiB; --allow-unsafe sysctl:vm.swappiness writes it all the same"
    assert one(SETTING, seen, Options(allow_unsafe=frozenset({SETTING.id}))).action is Action.UPDATE


def test_what_disrupts_needs_leave_and_says_whom():
    setting = replace(SETTING, impact_in_use=Impact.DISRUPTS)
    busy = Observation("60\n", in_use=True, users=("vllm.service",))
    change = one(setting, busy)
    assert (change.status, change.action, change.impact) == (Status.DRIFTED, Action.NONE, Impact.DISRUPTS)
    assert "vllm.service" in change.reason
    assert "--allow-disruption" in change.reason
    assert one(setting, busy, Options(allow_disruption=True)).action is Action.UPDATE
    assert one(setting, Observation("60\n")).impact is Impact.LIVE


def test_what_running_processes_keep_names_them():
    setting = replace(SETTING, impact=Impact.NEW_PROCESSES)
    change = one(setting, Observation("60\n", users=("vllm.service",)))
    assert (change.action, change.restart_needed) == (Action.UPDATE, ("vllm.service",))


def test_leave_to_disrupt_can_make_a_write_do_more():
    setting = replace(SETTING, impact_allowed=Impact.DISRUPTS)
    assert one(setting, Observation("60\n")).impact is Impact.LIVE
    assert one(setting, Observation("60\n"), Options(allow_disruption=True)).impact is Impact.DISRUPTS


CLAMPED = Remembered(Status.CLAMPED, "10", "30\n", "boot")
REFUSED = Remembered(Status.UNCHANGEABLE, "10", "60\n", "boot")


@pytest.mark.parametrize(
    ("known", "have", "want", "retry", "action"),
    [
        (CLAMPED, "30\n", "10", False, Action.NONE),
        (CLAMPED, "30\n", "10", True, Action.UPDATE),
        (CLAMPED, "31\n", "10", False, Action.UPDATE),
        (CLAMPED, "30\n", "11", False, Action.UPDATE),
        (REFUSED, "60\n", "10", False, Action.NONE),
        (REFUSED, "60\n", "10", True, Action.UPDATE),
        (REFUSED, "60\n", "11", False, Action.UPDATE),
    ],
)
def test_what_was_learned_by_trying_is_tried_again_only_when_asked_or_moved(
    known: Remembered, have: str, want: str, *, retry: bool, action: Action
):
    change = one(replace(SETTING, want=want), Observation(have), Options(retry=retry), known)
    assert change.action is action
    assert change.status is (known.status if action is Action.NONE else Status.DRIFTED)
    if action is Action.NONE:
        assert "--retry" in change.reason


@pytest.mark.parametrize("optional", [None, True, False])
@pytest.mark.parametrize("status", Status)
def test_what_counts(status: Status, *, optional: bool | None):
    quiet = {Status.OK, Status.PENDING, Status.NOT_APPLICABLE, Status.UNCHANGEABLE}
    expected = status not in quiet and optional is not True
    if status is Status.UNCHANGEABLE:
        expected = optional is False
    setting = replace(SETTING, optional=optional)
    assert counts(setting, status) is expected
    assert counts(setting, status, applying=True) is (expected and status is not Status.REBOOT)


EVERY = {setting.id: setting for setting in forty.settings()}
GROUPS = [sid for sid in EVERY if sid.startswith(("cgroup:", "cpuset:", "unit:inference"))]
CHOICES = [[sid] for sid in EVERY if sid not in GROUPS] + [GROUPS]
"""Each by itself, but the groups all or none: one lies within another, all of one tree."""
CHANGED = {
    "/proc/sys/vm/swappiness": st.sampled_from(["60\n", "10\n", "5\n", "0\n"]),
    "/proc/sys/vm/min_free_kbytes": st.sampled_from(["50000\n", "60000\n", "67584\n", "90000\n"]),
    "/proc/sys/vm/dirty_bytes": st.sampled_from(["0\n", "1073741824\n", "4096\n"]),
    f"{forty.THP}/enabled": st.sampled_from(["[always] madvise never\n", "always madvise [never]\n"]),
}


@hypothesis_settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(CHOICES), unique_by=tuple), st.fixed_dictionaries({}, optional=CHANGED))
def test_after_apply_nothing_is_left_to_do_and_rollback_returns(chosen: list[SettingId], changed: Mapping[str, str]):
    kernel = forty.kernel()
    for path, text in changed.items():
        kernel.put(path, text)
        if path.endswith("dirty_bytes") and text != "0\n":
            kernel.put("/proc/sys/vm/dirty_ratio", "0\n")
    before = kernel.state()
    every = flat([EVERY[sid] for some in chosen for sid in some])

    def plan(known: Mapping[SettingId, Remembered] | None = None) -> tuple[Change, ...]:
        return diff(every, observe(every, kernel), Options(), known)

    journal = MemoryJournal()
    came = execute(plan(), kernel, journal, start(), replan=plan)
    learned: dict[SettingId, Any] = {
        one.id: Remembered(one.status, next(s.want for s in every if s.id == one.id) or "", one.held, "boot")
        for one in came
        if one.status in (Status.CLAMPED, Status.UNCHANGEABLE)
    }
    assert [row.setting.id for row in plan(learned) if row.action is not Action.NONE] == []
    ledger = fold(journal)
    seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
    rows, spared = restore(ledger, seen, "boot")
    execute(rows, kernel, journal, start(2, "rollback"))
    assert spared == ()
    assert kernel.state() == before
