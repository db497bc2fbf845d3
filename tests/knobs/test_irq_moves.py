"""Interrupt numbers change while numatune looks away: at any moment the device and the index say which one is meant."""

from __future__ import annotations

import errno
from itertools import count
from pathlib import Path

import pytest
from fakes.irq import fire_all, rebind
from fakes.kernel import Behaviour, FakeKernel
from fakes.kills import on_host
from fakes.refusals import Refuses
from fakes.road import Road, actions
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune.compat import override
from numatune.host.protocol import Ran
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Status
from numatune.topology.irqbalance import DROP_IN

NIC = "0000:41:00.0"
RULES = """
irq:
  rules:
    - {match: {class: nic}, cpus: local, spread: core}
    - {match: {class: nvme}, cpus: local}
"""


def busy_host(**shape: object) -> FakeKernel:
    nic = {"node": 1, "vectors": 4}
    return FakeKernel(host_tree(nics=[nic], nvmes=[{"node": 0, "vectors": 3}], **shape))


@pytest.fixture
def kernel() -> FakeKernel:
    return busy_host()


@pytest.fixture
def road(kernel: FakeKernel, tmp_path: Path) -> Road:
    return Road(kernel, tmp_path)


def masks(kernel: FakeKernel) -> dict[str, str]:
    """By device and index."""
    state = kernel.state()
    return {path: text for path, text in state.items() if path.startswith("irq:") and path.endswith("affinity_list")}


def test_a_rebind_between_plan_and_apply(road: Road, kernel: FakeKernel):
    plan = road.plan(RULES)
    moved = rebind(kernel, NIC)
    came = road.apply(plan)
    assert {came[SettingId(f"irq:{NIC}/{index}")].status for index in range(4)} == {Status.PENDING}
    assert [
        kernel.files[f"/proc/irq/{number}/smp_affinity_list"] for number in sorted(moved.values(), reverse=True)
    ] == [f"{cpu}\n" for cpu in (4, 5, 6, 7)]


def test_a_rebind_in_the_middle_of_an_apply(road: Road, kernel: FakeKernel):
    plan = road.plan(RULES)
    writes = 0

    def hook(moment: str, what: str) -> None:  # noqa: ARG001  # as the fake kernel calls it
        nonlocal writes
        writes += moment == "after"
        if (moment, writes) == ("after", 2):
            rebind(kernel, NIC, keep=True)

    kernel.hook = hook
    road.apply(plan)
    assert actions(road.plan(RULES)) == {Action.NONE}


@pytest.mark.parametrize("shape", [{"remapping": True}, {"remapping": False}, {"kernel": "5.15.0"}])
def test_a_rebind_between_apply_and_rollback(tmp_path: Path, shape: dict[str, object]):
    kernel = busy_host(**shape)
    road, before = Road(kernel, tmp_path), kernel.state()
    road.apply(road.plan(RULES))
    assert kernel.state() != before
    fire_all(kernel)
    rebind(kernel, NIC, keep=True)
    assert road.rollback() == ()
    assert kernel.state() == before


def test_a_driver_that_starts_over_on_the_default_mask_has_given_it_back_itself(road: Road, kernel: FakeKernel):
    before = masks(kernel)
    road.apply(road.plan(RULES))
    rebind(kernel, NIC)
    assert road.rollback() == ()
    assert masks(kernel) == before


def test_what_somebody_else_moved_since_is_spared_and_named(road: Road, kernel: FakeKernel):
    road.apply(road.plan(RULES))
    kernel.put("/proc/irq/25/smp_affinity_list", "0\n")
    (spared,) = road.rollback()
    assert spared.id == f"irq:{NIC}/1"
    assert kernel.files["/proc/irq/25/smp_affinity_list"] == "0\n"


def test_an_interrupt_that_went_away_since_is_a_row(road: Road, kernel: FakeKernel):
    plan = road.plan(RULES)
    folder = kernel.real(f"/sys/bus/pci/devices/{NIC}")
    kernel.remove(f"{folder}/msi_irqs/27")
    came = road.apply(plan)
    assert came[SettingId(f"irq:{NIC}/3")].status is Status.UNSUPPORTED
    assert came[SettingId(f"irq:{NIC}/2")].status is Status.PENDING


def test_killed_at_every_write_all_masks_come_back(tmp_path: Path):
    for step in count():
        kernel = busy_host()
        road, before = Road(kernel, tmp_path), masks(kernel)
        plan = road.plan(RULES)
        with on_host(step, kernel) as one:
            road.apply(plan)
        if not one.died:
            break
        rebind(kernel, NIC, keep=True)
        assert road.rollback() == ()
        assert masks(kernel) == before
    assert step == 2 * 5


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        (errno.ENOSPC, Status.FAILED, "no interrupt vector left (ENOSPC)"),
        (errno.EINVAL, Status.FAILED, "none of the CPUs is online (EINVAL)"),
        (errno.ERANGE, Status.FAILED, "a CPU beyond those that this kernel can have (ERANGE)"),
        (errno.EPERM, Status.UNCHANGEABLE, "manages this interrupt itself (EPERM)"),
        (errno.EIO, Status.UNCHANGEABLE, "manages this interrupt itself (EIO)"),
        (errno.EACCES, Status.DENIED, "writing needs root (EACCES)"),
    ],
)
def test_one_refused_move_is_a_row_and_the_others_go_on(tmp_path: Path, code: int, status: Status, said: str):
    tree = host_tree(nics=[{"node": 1, "vectors": 3}], remapping=True)
    kernel = FakeKernel(tree, behaviours=(Refuses("/proc/irq/25/smp_affinity_list", code), *USUAL))
    road = Road(kernel, tmp_path)
    came = road.apply(road.plan(RULES))
    refused = came[SettingId(f"irq:{NIC}/1")]
    assert (refused.status, refused.errno) == (status, code)
    assert said in refused.reason
    assert {came[SettingId(f"irq:{NIC}/{index}")].status for index in (0, 2)} == {Status.OK}


IRQBALANCE = {
    "/lib/systemd/system/irqbalance.service": "[Service]\nExecStart=/usr/sbin/irqbalance $IRQBALANCE_ARGS\n",
    "/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs": "811\n",
    "/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.subtree_control": "\n",
    "/proc/811/comm": "irqbalance\n",
}


class Balances(Behaviour):
    """An irqbalance that moves every interrupt to CPU 1 when it is started anew, unless it is told to leave it."""

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        if argv[:2] == ("systemctl", "try-restart") and DROP_IN not in kernel.files:
            for path in [path for path in kernel.files if path.endswith("/smp_affinity_list")]:
                kernel.files[path] = "1\n"
        return None


def test_irqbalance_is_let_back_to_its_interrupts_last(tmp_path: Path):
    """Else it moves them before they are given back, and the rollback takes that for somebody's own doing."""
    kernel = FakeKernel(host_tree(nics=[{"node": 1, "vectors": 4}]) | IRQBALANCE, behaviours=(Balances(), *USUAL))
    road = Road(kernel, tmp_path)
    road.apply(road.plan(RULES + "services: {irqbalance: banned}\n"))
    kernel.log.clear()
    assert road.rollback() == ()
    told = [path for path, _ in kernel.log]
    moved = [place for place, path in enumerate(told) if path.endswith("/smp_affinity_list")]
    assert len(moved) == 4
    assert max(moved) < min(place for place, path in enumerate(told) if "irqbalance" in path)


def test_irqbalance_is_restarted_once_each_time(tmp_path: Path):
    """systemd gives up on a unit that starts more than five times in ten seconds (StartLimitBurst=)."""
    kernel = FakeKernel(host_tree(nics=[{"node": 1, "vectors": 4}], nvmes=[{"node": 0, "vectors": 1}]) | IRQBALANCE)
    road = Road(kernel, tmp_path)

    def restarts() -> int:
        told = [path for path, _ in kernel.log if "try-restart" in path]
        kernel.log.clear()
        return len(told)

    road.apply(road.plan("irq: {rules: [{match: {class: nic}, cpus: local}]}\nservices: {irqbalance: banned}\n"))
    assert restarts() == 1
    road.apply(road.plan(RULES + "services: {irqbalance: banned}\n"))
    assert restarts() == 1, "one device more"
    road.rollback()
    assert restarts() == 1
    assert not [path for path in kernel.files if "numatune" in path]
