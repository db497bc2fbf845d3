"""What came of each row: refused, clamped, pending, waiting, not allowed."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from fakes.carried_out import STAT, SWAPPINESS, carry_out, host, plan, setting_of_irq
from fakes.forty import NIC, sysctl
from fakes.journal import MemoryJournal, start
from fakes.kernel import FakeKernel
from fakes.refusals import Clamps, Refuses
from fakes.trees import host_tree

from numatune.engine.diff import Options
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.settings.codecs import Choice, CpuList, Int
from numatune.settings.model import FitsFree, Impact, Phase, Setting, SettingId
from numatune.settings.plan import Action, Status
from numatune.settings.targets import Cgroup, KernelFile


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
