"""The way back: what a partner's write moves, what somebody else changed meanwhile, what was refused or cut off."""

from __future__ import annotations

import errno
from dataclasses import replace

from fakes import kills
from fakes.carried_out import STAT, SWAPPINESS, carry_out, host, plan, roll_back
from fakes.forty import THP, settings, sysctl
from fakes.forty import kernel as forty_kernel
from fakes.journal import MemoryJournal, start
from fakes.refusals import Refuses

from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import observe
from numatune.engine.restore import restore
from numatune.settings.codecs import Choice, Text
from numatune.settings.journal import RunEnd
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Status
from numatune.settings.targets import Cgroup, KernelFile, OwnedFile


def thp_and_min_free(thp: str, min_free: str | None) -> tuple[Setting, ...]:
    watched = sysctl("vm.min_free_kbytes", None, phase=Phase.RECLAIM)
    target = KernelFile((f"{THP}/enabled",))
    one = Setting(
        id=SettingId("thp:enabled"),
        target=target,
        codec=Choice(),
        want=thp,
        phase=Phase.THP,
        section="thp",
        companions=(watched,),
    )
    return (one,) if min_free is None else (one, replace(watched, want=min_free))


def test_what_another_write_moved_is_written_after_it_although_it_held_at_first():
    kernel, journal = host(), MemoryJournal()
    kernel.put("/proc/sys/vm/min_free_kbytes", "50000\n")
    kernel.put(f"{THP}/enabled", "always madvise [never]\n")
    before = kernel.state()
    wanted = thp_and_min_free("always", "50000")
    came = carry_out(kernel, wanted, journal)
    assert {one.status for one in came.values()} == {Status.OK}
    assert kernel.files["/proc/sys/vm/min_free_kbytes"] == "50000\n"
    assert [one.action for one in plan(kernel, wanted)] == [Action.NONE, Action.NONE]
    assert roll_back(kernel, journal)[0] == []
    assert kernel.state() == before


def test_rollback_gives_back_what_its_own_write_moves():
    """THP was on, then the administrator lowered min_free_kbytes; going back to THP on raises it once more."""
    kernel, journal = host(), MemoryJournal()
    kernel.put(f"{THP}/enabled", "[always] madvise never\n")
    kernel.put("/proc/sys/vm/min_free_kbytes", "50000\n")
    before = kernel.state()
    carry_out(kernel, thp_and_min_free("never", None), journal)
    assert kernel.files["/proc/sys/vm/min_free_kbytes"] == "50000\n"
    assert roll_back(kernel, journal)[0] == []
    assert kernel.state() == before


def test_a_companion_that_somebody_moved_since_the_plan_is_given_back_as_it_was_just_before_the_write():
    kernel, journal = host(), MemoryJournal()
    kernel.put(f"{THP}/enabled", "always madvise [never]\n")
    kernel.put("/proc/sys/vm/min_free_kbytes", "50000\n")
    changes = plan(kernel, thp_and_min_free("always", None))
    kernel.put("/proc/sys/vm/min_free_kbytes", "51000\n")
    execute(changes, kernel, journal, start())
    roll_back(kernel, journal)
    assert kernel.files["/proc/sys/vm/min_free_kbytes"] == "51000\n"


def test_what_somebody_else_changed_after_apply_is_spared_and_named():
    kernel, journal = host(), MemoryJournal()
    carry_out(kernel, [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")], journal)
    kernel.put(SWAPPINESS, "5\n")
    spared, came = roll_back(kernel, journal)
    assert spared == ["sysctl:vm.swappiness"]
    assert [one.status for one in came] == [Status.OK]
    assert (kernel.files[SWAPPINESS], kernel.files[STAT]) == ("5\n", "1\n")


def test_what_somebody_else_changes_during_the_rollback_is_spared_and_named():
    kernel, journal = host(), MemoryJournal()
    carry_out(kernel, [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")], journal)
    ledger = fold(journal)
    seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
    changes, _ = restore(ledger, seen, "boot")
    kernel.put(SWAPPINESS, "5\n")
    came = {one.id: one for one in execute(changes, kernel, journal, start(2, "rollback"))}
    assert came["sysctl:vm.swappiness"].status is Status.DRIFTED
    assert "5" in came["sysctl:vm.swappiness"].reason
    assert kernel.files[SWAPPINESS] == "5\n"
    end = journal[-1]
    assert isinstance(end, RunEnd)
    assert (end.result, end.spared) == ("done", ("sysctl:vm.swappiness",))


def test_a_cgroup_that_somebody_made_anew_is_not_ours_to_remove():
    kernel, journal = host(), MemoryJournal()
    path = "/sys/fs/cgroup/own"
    group = Setting(
        id=SettingId("cgroup:own"), target=Cgroup(path), codec=Choice(), want="here", phase=Phase.CGROUP, section="c"
    )
    carry_out(kernel, [group], journal)
    kernel.drop(path)
    kernel.make(path)
    assert roll_back(kernel, journal)[0] == ["cgroup:own"]
    assert kernel.real(path) == path


def test_after_a_reboot_only_what_outlives_it_is_taken_back():
    kernel, journal = host(), MemoryJournal()
    path = "/etc/sysctl.d/90-numatune.conf"
    file = Setting(
        id=SettingId("file:x"), target=OwnedFile(path), codec=Text(), want="a = 1\n", phase=Phase.FILES, section="x"
    )
    carry_out(kernel, [sysctl("vm.swappiness", "10"), file], journal)
    kernel.put(SWAPPINESS, "10\n")
    spared, came = roll_back(kernel, journal, boot="another")
    assert (spared, [one.id for one in came]) == ([], ["file:x"])
    assert path not in kernel.files
    assert kernel.files[SWAPPINESS] == "10\n", "whoever set it after the reboot, it was not that run"


def test_a_rollback_that_finds_nothing_to_do_is_noted_all_the_same():
    kernel, journal = host(), MemoryJournal()
    carry_out(kernel, [sysctl("vm.swappiness", "10")], journal)
    kernel.put(SWAPPINESS, "60\n")
    del kernel.log[:]
    roll_back(kernel, journal)
    assert kernel.log == []
    end = journal[-1]
    assert isinstance(end, RunEnd)
    assert (end.result, end.changed) == ("done", 0)


def test_a_refused_rollback_is_incomplete_and_tried_again_by_the_next():
    kernel, journal = host(), MemoryJournal()
    carry_out(kernel, [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")], journal)
    usual = kernel.behaviours
    kernel.behaviours = (Refuses(SWAPPINESS, errno.EBUSY), *usual)
    _, came = roll_back(kernel, journal)
    assert {one.id: one.status for one in came}["sysctl:vm.swappiness"] is Status.FAILED
    end = journal[-1]
    assert isinstance(end, RunEnd)
    assert end.result == "incomplete"
    kernel.behaviours = usual
    roll_back(kernel, journal)
    assert kernel.files[SWAPPINESS] == "60\n"


def test_a_unit_that_reads_our_file_reads_it_again_when_the_rollback_was_cut_off_between_the_two():
    kernel, journal = forty_kernel(), MemoryJournal()
    wanted = [one for one in settings() if one.id == "file:inference"]
    carry_out(kernel, wanted, journal)
    told = "systemctl try-restart irqbalance.service"
    assert (told, "<run>") in kernel.log

    with kills.at(kernel, "before", what=told) as one:
        roll_back(kernel, journal)
    assert one.died
    del kernel.log[:]
    roll_back(kernel, journal)
    assert (told, "<run>") in kernel.log
