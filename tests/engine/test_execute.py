"""Writing: what is noted when, and what happens when the host moves meanwhile."""

from __future__ import annotations

import pytest
from fakes.carried_out import STAT, SWAPPINESS, carry_out, host, kinds_of, plan, roll_back, setting_of_irq
from fakes.forty import NIC, settings, sysctl
from fakes.forty import kernel as forty_kernel
from fakes.irq import rebind
from fakes.journal import MemoryJournal, start

from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat
from numatune.errors import StateError
from numatune.settings.journal import Ack, Intent, Ready, Record
from numatune.settings.model import SettingId
from numatune.settings.plan import Status


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


def test_what_the_stopped_unit_set_as_wanted_itself_is_not_written_and_not_ours():
    kernel, journal = forty_kernel(), MemoryJournal()
    wanted = [one for one in settings() if one.id in ("unit:irqbalance.service/active", "sysctl:vm.swappiness")]
    kernel.hook = lambda moment, what: kernel.put(SWAPPINESS, "10\n") if moment == "after" and "stop" in what else None
    came = execute(plan(kernel, wanted), kernel, journal, start(), replan=lambda: plan(kernel, wanted))
    assert {one.status for one in came} == {Status.OK}
    assert [path for path, _ in kernel.log] == ["systemctl --no-ask-password stop -- irqbalance.service"]
    assert list(fold(journal)) == ["unit:irqbalance.service/active"]
