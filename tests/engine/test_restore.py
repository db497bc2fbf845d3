"""What a rollback plans: what comes back, what is spared and why, what needs no write."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from fakes.forty import sysctl
from fakes.rows import owned_file

from numatune.engine.restore import restore
from numatune.settings.codecs import AtBoot, Choice, Count, CpuList, Words
from numatune.settings.journal import Owned
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Observation
from numatune.settings.targets import Cgroup, KernelFile, UnitState

OURS = Owned(sysctl("vm.swappiness", "10"), "60\n", "10\n", 1, "boot")
POOL = Owned(sysctl("vm.nr_hugepages", "512", Count()), "8\n", None, 1, "boot", in_doubt=True, writes=("512",))
FILE = Owned(owned_file("/etc/x.conf", "ours"), None, "ours", 1, "boot")


def planned(owned: Owned, text: str | None, code: int = 0, boot: str = "boot") -> tuple[list[str], list[str]]:
    """The texts (or the action) of the rows that write, and the reasons of what is spared."""
    sid = owned.setting.id
    changes, spared = restore({sid: owned}, {sid: Observation(text, code)}, boot)
    rows = [change for change in changes if change.action is not Action.NONE]
    written = [text for row in rows for text in (row.writes or (row.action.value,))]
    return written, [one.reason for one in spared]


@pytest.mark.parametrize(
    ("owned", "now", "writes", "reasons"),
    [
        (OURS, "10\n", ["60"], []),
        (OURS, "60\n", [], []),
        (OURS, "33\n", [], ["somebody set it to 33 since"]),
        (replace(OURS, coupled=True), "33\n", ["60"], []),
        (replace(OURS, held=None, in_doubt=True, writes=("10",)), "10\n", ["60"], []),
        (replace(OURS, held=None, in_doubt=True, writes=("10",)), "33\n", [], ["somebody set it to 33 since"]),
        (replace(OURS, held=None), "10\n", [], ["somebody set it to 10 since"]),
        (POOL, "300\n", ["8"], []),
        (POOL, "600\n", [], ["somebody set it to 600 since"]),
        (replace(OURS, setting=replace(OURS.setting, undo="never")), "10\n", [], ["cannot be given back; it was 60"]),
        (replace(OURS, setting=replace(OURS.setting, undo="never")), "60\n", [], []),
        (FILE, "ours", ["delete"], []),
        (FILE, "theirs", [], ["somebody changed it since"]),
    ],
)
def test_what_is_still_ours_comes_back(owned: Owned, now: str, writes: list[str], reasons: list[str]):
    assert planned(owned, now) == (writes, reasons)


@pytest.mark.parametrize(
    ("code", "reason"), [(errno.ENOENT, "is gone; it was 60"), (errno.EACCES, "cannot be read (EACCES); it was 60")]
)
def test_what_is_not_there_is_named(code: int, reason: str):
    assert planned(OURS, None, code) == ([], [reason])


def test_what_we_made_and_is_gone_needs_nothing():
    assert planned(FILE, None, errno.ENOENT) == ([], [])


def test_of_an_earlier_boot_only_what_outlives_it():
    assert planned(OURS, "10\n", boot="another") == ([], [])
    assert planned(FILE, "ours", boot="another") == (["delete"], [])


STOPPED = replace(
    FILE.setting,
    id=SettingId("service:x/active"),
    target=UnitState("x.service", "active"),
    codec=Words(),
    want="inactive",
    phase=Phase.QUIET,
)
DISABLED = replace(
    STOPPED,
    id=SettingId("service:x/enabled"),
    target=UnitState("x.service", "enabled"),
    codec=AtBoot(),
    want="disabled",
)


@pytest.mark.parametrize(
    ("enabled", "active", "given_back"),
    [
        pytest.param("disabled", "inactive", ["service:x/enabled", "service:x/active"], id="not started at this boot"),
        pytest.param("disabled", "active", ["service:x/enabled"], id="started by somebody since"),
        pytest.param("enabled", "inactive", [], id="enabled by somebody, and stopped since the boot"),
    ],
)
def test_a_unit_that_was_out_of_the_boot_runs_again(enabled: str, active: str, given_back: list[str]):
    """It is down after the reboot because of what a run of an earlier boot left there, not because of the reboot."""
    ledger = {
        STOPPED.id: Owned(STOPPED, "active", "inactive", 1, "boot"),
        DISABLED.id: Owned(DISABLED, "enabled", "disabled", 1, "boot"),
    }
    seen = {STOPPED.id: Observation(active), DISABLED.id: Observation(enabled)}
    changes, spared = restore(ledger, seen, "another")
    assert [row.setting.id for row in changes if row.action is not Action.NONE] == given_back
    assert spared == ()


def test_what_lies_in_a_group_that_we_made_goes_with_it():
    group = Setting(
        id=SettingId("cgroup:a"), target=Cgroup("/c/a"), codec=Choice(), want="here", phase=Phase.CGROUP, section="c"
    )
    inside = replace(
        group,
        id=SettingId("cpuset:a"),
        target=KernelFile(("/c/a/cpuset.cpus",)),
        codec=CpuList(),
        want="1",
        needs=group.id,
    )
    ledger = {
        group.id: Owned(group, None, "here", 1, "boot", identity="7"),
        inside.id: Owned(inside, None, "1\n", 1, "boot"),
    }
    seen = {group.id: Observation("here", identity="7"), inside.id: Observation("5\n")}
    changes, spared = restore(ledger, seen, "boot")
    assert ([(row.setting.id, row.action) for row in changes], spared) == ([(group.id, Action.DELETE)], ())
    seen[group.id] = Observation("here", identity="8")
    changes, spared = restore(ledger, seen, "boot")
    assert (changes, [one.id for one in spared]) == ((), [group.id])
