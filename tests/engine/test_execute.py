"""Writing: what is noted when, what happens when the host moves meanwhile, what came of each row."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fakes.forty import NIC, THP, settings, sysctl
from fakes.forty import kernel as forty_kernel
from fakes.irq import rebind
from fakes.journal import MemoryJournal, start
from fakes.kernel import FakeKernel
from fakes.refusals import Clamps, Refuses
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.errors import StateError
from numatune.settings.codecs import Choice, CpuList, Int, Text
from numatune.settings.journal import Ack, Intent, Ready, Record, RunEnd
from numatune.settings.model import FitsFree, Impact, Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Outcome, Status
from numatune.settings.targets import Cgroup, IrqAffinity, KernelFile, OwnedFile

SWAPPINESS, STAT = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval"
OPTIONS = Options(allow_disruption=True)


def host(*behaviours: object, **fields: object) -> FakeKernel:
    tree = host_tree(nics=[{"vectors": 2}], remapping=True)
    return FakeKernel(tree, behaviours=(*behaviours, *USUAL), **fields)  # type: ignore[arg-type]


def plan(kernel: FakeKernel, wanted: Sequence[Setting], options: Options = OPTIONS) -> tuple[Change, ...]:
    every = flat(wanted)
    return diff(every, observe(every, kernel), options)


def carry_out(
    kernel: FakeKernel, wanted: Sequence[Setting], journal: MemoryJournal | None = None
) -> dict[str, Outcome]:
    journal = MemoryJournal() if journal is None else journal
    return {came.id: came for came in execute(plan(kernel, wanted), kernel, journal, start())}


def roll_back(kernel: FakeKernel, journal: MemoryJournal, boot: str = "boot") -> tuple[list[str], list[Outcome]]:
    ledger = fold(journal)
    seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
    changes, spared = restore(ledger, seen, boot)
    return [one.id for one in spared], list(execute(changes, kernel, journal, start(2, "rollback")))


def kinds_of(records: Sequence[Record]) -> list[str]:
    return [type(record).__name__ for record in records]


def test_all_intents_are_on_disk_before_the_first_write():
    kernel, journal = host(), MemoryJournal()
    noted: list[list[str]] = []
    kernel.hook = lambda moment, what: noted.append(kinds_of(journal)) if moment == "before" else None  # noqa: ARG005
    carry_out(kernel, [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")], journal)
    assert noted[0] == ["RunStart", "Intent", "Intent", "Ready"]
    assert noted[1] == [*noted[0], "Ack"]
    assert kinds_of(journal) == [*noted[1], "Ack", "Ack", "Ack", "RunEnd"]
    assert [record.final for record in journal if isinstance(record, Ack)] == [False, False, True, True]


def test_what_changes_nothing_writes_no_journal():
    kernel, journal = host(), MemoryJournal()
    came = carry_out(kernel, [sysctl("vm.swappiness", "60"), sysctl("vm.no_such_key", "1")], journal)
    assert journal == []
    assert kernel.log == []
    assert (came["sysctl:vm.swappiness"].status, came["sysctl:vm.swappiness"].changed) == (Status.OK, False)
    assert came["sysctl:vm.no_such_key"].status is Status.UNSUPPORTED


def test_a_second_apply_changes_nothing_and_leaves_the_originals_alone():
    kernel, journal = host(), MemoryJournal()
    wanted = [sysctl("vm.swappiness", "10")]
    carry_out(kernel, wanted, journal)
    before = list(journal)
    carry_out(kernel, wanted, journal)
    assert list(journal) == before
    assert fold(journal)[SettingId("sysctl:vm.swappiness")].original == "60\n"


def test_a_value_that_moved_since_the_plan_is_planned_anew_and_its_last_value_is_kept():
    kernel, journal = host(), MemoryJournal()
    wanted = [sysctl("vm.swappiness", "10")]
    changes = plan(kernel, wanted)
    kernel.put(SWAPPINESS, "33\n")
    execute(changes, kernel, journal, start())
    assert [record.before for record in journal if isinstance(record, Intent)] == ["60\n", "33\n"]
    assert roll_back(kernel, journal)[0] == []
    assert kernel.files[SWAPPINESS] == "33\n"


def test_a_value_that_somebody_set_as_wanted_meanwhile_is_not_written():
    kernel, journal = host(), MemoryJournal()
    changes = plan(kernel, [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")])
    kernel.put(SWAPPINESS, "10\n")
    came = {one.id: one for one in execute(changes, kernel, journal, start())}
    assert kernel.log == [(STAT, "9")]
    assert came["sysctl:vm.swappiness"].status is Status.OK
    roll_back(kernel, journal)
    assert kernel.files[SWAPPINESS] == "10\n", "it was not ours to give back"


def test_what_is_gone_since_the_plan_is_a_row_and_the_rest_goes_on():
    kernel = host()
    irq = setting_of_irq(1, "0-3")
    changes = plan(kernel, [irq, sysctl("vm.swappiness", "10")])
    for number in kernel.names(f"/sys/bus/pci/devices/{NIC}/msi_irqs"):
        kernel.remove(f"{kernel.real(f'/sys/bus/pci/devices/{NIC}/msi_irqs')}/{number}")
    came = {one.id: one for one in execute(changes, kernel, MemoryJournal(), start())}
    assert came[irq.id].status is Status.UNSUPPORTED
    assert came["sysctl:vm.swappiness"].status is Status.OK


def setting_of_irq(index: int, want: str) -> Setting:
    return Setting(
        id=SettingId(f"irq:{NIC}/{index}"),
        target=IrqAffinity(NIC, index),
        codec=CpuList(),
        want=want,
        phase=Phase.IRQ,
        section="irq",
    )


def test_an_interrupt_that_was_renumbered_since_the_plan_is_found_again():
    kernel, journal = host(), MemoryJournal()
    before = kernel.state()
    changes = plan(kernel, [setting_of_irq(0, "0-1"), setting_of_irq(1, "2-3")])
    rebind(kernel, NIC, keep=True)
    came = execute(changes, kernel, journal, start())
    assert [one.status for one in came] == [Status.OK, Status.OK]
    assert kernel.state() != before
    rebind(kernel, NIC, keep=True)
    assert roll_back(kernel, journal)[0] == []
    assert kernel.state() == before


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (errno.EROFS, Status.DENIED),
        (errno.EACCES, Status.DENIED),
        (errno.EPERM, Status.DENIED),
        (errno.EINVAL, Status.FAILED),
        (errno.EBUSY, Status.FAILED),
        (errno.ENOSPC, Status.FAILED),
        (errno.EIO, Status.FAILED),
    ],
)
def test_one_refused_write_is_named_and_the_rest_goes_on(code: int, status: Status):
    kernel, journal = host(Refuses(SWAPPINESS, code)), MemoryJournal()
    came = carry_out(kernel, [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")], journal)
    refused = came["sysctl:vm.swappiness"]
    assert (refused.status, refused.errno, refused.changed) == (status, code, False)
    assert errno.errorcode[code] in refused.reason
    assert came["sysctl:vm.stat_interval"].status is Status.OK
    assert list(fold(journal)) == ["sysctl:vm.stat_interval"], "what was refused is not ours"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EIO])
def test_a_refused_interrupt_is_unchangeable(code: int):
    kernel = host()
    number = kernel.names(f"/sys/bus/pci/devices/{NIC}/msi_irqs")[0]
    kernel.behaviours = (Refuses(f"/proc/irq/{number}/smp_affinity_list", code), *kernel.behaviours)
    came = carry_out(kernel, [setting_of_irq(0, "0-1")])
    assert came[f"irq:{NIC}/0"].status is Status.UNCHANGEABLE


def test_a_write_that_succeeds_and_holds_another_value_is_clamped_with_both_values():
    kernel = host(Clamps(STAT, 30))
    came = carry_out(kernel, [sysctl("vm.stat_interval", "120")])["sysctl:vm.stat_interval"]
    assert (came.status, came.held, came.changed) == (Status.CLAMPED, "30\n", True)
    assert "120" in came.reason
    assert "30" in came.reason


def test_an_idle_interrupt_is_pending():
    kernel = FakeKernel(host_tree(nics=[{"vectors": 2}], remapping=False))
    came = carry_out(kernel, [setting_of_irq(0, "5-6")])
    assert came[f"irq:{NIC}/0"].status is Status.PENDING


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


def test_what_waits_for_a_refused_setting_is_not_written():
    kernel = host()
    path = "/sys/fs/cgroup/own"
    group = Setting(
        id=SettingId("cgroup:own"), target=Cgroup(path), codec=Choice(), want="here", phase=Phase.CGROUP, section="c"
    )
    inside = replace(
        group,
        id=SettingId("cpuset:own"),
        target=KernelFile((f"{path}/cpuset.cpus",)),
        codec=CpuList(),
        want="1",
        needs=group.id,
    )
    changes = plan(kernel, [group, inside])
    assert [one.action for one in changes] == [Action.CREATE, Action.UPDATE]
    kernel.read_only = ("/sys/fs/cgroup",)
    journal = MemoryJournal()
    came = {one.id: one for one in execute(changes, kernel, journal, start())}
    assert [one.status for one in came.values()] == [Status.DENIED, Status.DENIED]
    assert came[inside.id].reason == "waits for cgroup:own"
    assert fold(journal) == {}


def test_a_guard_that_speaks_up_only_at_the_write_keeps_it_from_being_written():
    kernel = host()
    guarded = sysctl("vm.max_map_count", "1000000", guard=FitsFree("/proc/meminfo", 4096))
    changes = plan(kernel, [guarded])
    assert changes[0].action is Action.UPDATE
    kernel.put("/proc/meminfo", "MemFree: 1 kB\n")
    kernel.put("/proc/sys/vm/max_map_count", "65531\n")
    came = execute(changes, kernel, MemoryJournal(), start())[0]
    assert came.status is Status.DRIFTED
    assert "--allow-unsafe" in came.reason
    assert kernel.log == []


def test_after_the_units_have_stopped_everything_is_observed_again():
    """What stops puts its own values back, as tuned does."""
    kernel, journal = forty_kernel(), MemoryJournal()
    before = kernel.state()
    wanted = flat([one for one in settings() if one.id in ("unit:irqbalance.service/active", "sysctl:vm.swappiness")])

    def hook(moment: str, what: str) -> None:
        if moment == "after" and "stop" in what:
            kernel.put(SWAPPINESS, "44\n")
            kernel.put(STAT, "7\n")

    more = (*wanted, sysctl("vm.stat_interval", "1"))
    kernel.hook = hook
    came = execute(plan(kernel, more), kernel, journal, start(), replan=lambda: plan(kernel, more))
    assert {one.id: one.status for one in came} == dict.fromkeys([one.id for one in more], Status.OK)
    assert kernel.files[STAT] == "1\n", "it held at first, and was written only because the fresh plan said so"
    ready = [place for place, record in enumerate(journal) if isinstance(record, Ready)]
    assert len(ready) == 2
    kernel.hook = lambda moment, what: None  # noqa: ARG005
    roll_back(kernel, journal)
    changed = {path for path in before if kernel.state().get(path) != before[path]}
    assert changed == {SWAPPINESS, STAT}
    assert (kernel.files[SWAPPINESS], kernel.files[STAT]) == ("44\n", "7\n"), "what was there before each write"


def test_progress_is_told_after_each_write():
    kernel = host()
    told: list[tuple[int, int, str]] = []
    wanted = [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9"), sysctl("vm.numa_stat", "1")]
    execute(
        plan(kernel, wanted),
        kernel,
        MemoryJournal(),
        start(),
        progress=lambda done, of, change: told.append((done, of, change.setting.id)),
    )
    assert told == [(1, 2, "sysctl:vm.swappiness"), (2, 2, "sysctl:vm.stat_interval")]


class Full(MemoryJournal):
    """No room from the nth record on."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def append(self, record: Record, *, sync: bool = False) -> None:
        if len(self) >= self.room:
            raise StateError("runs/000001.jsonl", "no room")
        super().append(record, sync=sync)


@pytest.mark.parametrize("room", range(8))
def test_without_room_for_the_journal_nothing_more_is_touched(room: int):
    kernel, journal = host(), Full(room)
    wanted = [sysctl("vm.swappiness", "10"), sysctl("vm.stat_interval", "9")]
    before = kernel.state()
    with pytest.raises(StateError):
        carry_out(kernel, wanted, journal)
    if room <= 3:
        assert kernel.log == []
    journal.room = 100
    assert roll_back(kernel, journal)[0] == []
    assert kernel.state() == before


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

    class Killed(BaseException):
        pass

    def hook(moment: str, what: str) -> None:
        if moment == "before" and what == told:
            raise Killed

    kernel.hook = hook
    with pytest.raises(Killed):
        roll_back(kernel, journal)
    kernel.hook = lambda moment, what: None  # noqa: ARG005
    del kernel.log[:]
    roll_back(kernel, journal)
    assert (told, "<run>") in kernel.log


def test_what_was_not_allowed_stays_as_planned():
    kernel = host()
    wanted = [
        sysctl("vm.swappiness", "10", codec=Int(op="<=")),
        replace(sysctl("vm.stat_interval", "9"), impact=Impact.DISRUPTS),
    ]
    changes = plan(kernel, wanted, Options())
    came = {one.id: one for one in execute(changes, kernel, MemoryJournal(), start())}
    assert came["sysctl:vm.stat_interval"].status is Status.DRIFTED
    assert "--allow-disruption" in came["sysctl:vm.stat_interval"].reason
    assert kernel.log == [(SWAPPINESS, "10")]


def test_what_the_stopped_unit_set_as_wanted_itself_is_not_written_and_not_ours():
    kernel, journal = forty_kernel(), MemoryJournal()
    wanted = [one for one in settings() if one.id in ("unit:irqbalance.service/active", "sysctl:vm.swappiness")]
    kernel.hook = lambda moment, what: kernel.put(SWAPPINESS, "10\n") if moment == "after" and "stop" in what else None
    came = execute(plan(kernel, wanted), kernel, journal, start(), replan=lambda: plan(kernel, wanted))
    assert {one.status for one in came} == {Status.OK}
    assert [path for path, _ in kernel.log] == ["systemctl --no-ask-password stop -- irqbalance.service"]
    assert list(fold(journal)) == ["unit:irqbalance.service/active"]
