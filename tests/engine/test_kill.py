"""A kill at any write or journal step, also inside the rollback: the next rollback brings every value back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fakes import forty
from fakes.irq import rebind
from fakes.journal import MemoryJournal, start
from fakes.kernel import FakeKernel  # noqa: TC002  # as our own modules, see TC001

from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.settings.journal import Record
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change

HARDEST = {
    "unit:irqbalance.service/active",
    "file:inference",
    "sysctl:vm.swappiness",
    "sysctl:vm.dirty_bytes",
    "thp:enabled",
    "sysctl:vm.min_free_kbytes",
    "hugepages:node1/2M",
    "cgroup:+",
    "cgroup:own",
    "cpuset:own/cpuset.mems",
    "cpuset:own/cpuset.cpus",
    "unit:inference.slice/AllowedCPUs",
    f"irq:{forty.NIC}/0",
    f"irq:{forty.NIC}/1",
    f"irq:{forty.NVME}/1",
}


@dataclass(frozen=True)
class Moment:
    """What is left when the process is killed here."""

    kernel: FakeKernel
    records: tuple[Record, ...]


class Moments(list[Moment]):
    """Every moment of a run at which a kill leaves something else than the moment before; `points` counts them all."""

    def __init__(self, kernel: FakeKernel, journal: MemoryJournal) -> None:
        super().__init__()
        self.points = 0
        self._kernel, self._journal, self._last = kernel, journal, (-1, -1)
        self._writes = 0
        kernel.hook = lambda moment, what: self._host(moment)  # noqa: ARG005
        journal.hook = lambda moment: self._keep()  # noqa: ARG005

    def _host(self, moment: str) -> None:
        self._writes += moment == "after"
        self._keep()

    def _keep(self) -> None:
        self.points += 1
        now = (self._writes, len(self._journal))
        if now != self._last:
            self.append(Moment(self._kernel.copy(), tuple(self._journal)))
            self._last = now


def apply(kernel: FakeKernel, journal: MemoryJournal, settings: Sequence[Setting]) -> int:
    def plan() -> tuple[Change, ...]:
        return diff(settings, observe(settings, kernel), Options())

    changes = plan()
    execute(changes, kernel, journal, start(), replan=plan)
    return sum(change.action is not Action.NONE for change in changes)


def roll_back(kernel: FakeKernel, journal: MemoryJournal) -> list[str]:
    """Ids that did not come back."""
    ledger = fold(journal)
    assert sum(owned.in_doubt for owned in ledger.values()) <= 2, "one of the run, one of a rollback of it"

    def plan() -> tuple[tuple[Change, ...], list[str]]:
        seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
        changes, spared = restore(ledger, seen, "boot")
        return changes, [one.id for one in spared]

    changes, spared = plan()
    came = execute(changes, kernel, journal, start(2, "rollback", undoes=(1,)), replan=lambda: plan()[0])
    return spared + [one.id for one in came if one.status != "ok"]


def moments_of(run: Callable[[FakeKernel, MemoryJournal], object], before: Moment) -> Moments:
    kernel, journal = before.kernel.copy(), MemoryJournal(before.records)
    moments = Moments(kernel, journal)
    run(kernel, journal)
    return moments


def left_over(moment: Moment, wanted: dict[str, str]) -> list[str]:
    """What the rollback after a kill at this moment leaves otherwise than it was."""
    kernel = moment.kernel.copy()
    missed = roll_back(kernel, MemoryJournal(moment.records))
    state = kernel.state()
    return missed + [path for path in {*state, *wanted} if state.get(path) != wanted.get(path)]


def each_moment(settings: Sequence[Setting]) -> tuple[dict[str, str], Moments, int]:
    kernel = forty.kernel()
    written = 0

    def run(kernel: FakeKernel, journal: MemoryJournal) -> None:
        nonlocal written
        written = apply(kernel, journal, settings)

    moments = moments_of(run, Moment(kernel, ()))
    return kernel.state(), moments, written


def renumbered(moments: Sequence[Moment]) -> Iterator[Moment]:
    """Every other time the NIC's driver is bound again before anybody rolls back: its interrupts get other numbers."""
    for place, moment in enumerate(moments):
        if place % 2:
            rebind(moment.kernel, forty.NIC, keep=True)
        yield moment


def test_a_kill_at_any_step_of_an_apply_of_forty_settings_is_taken_back():
    wanted, moments, written = each_moment(flat(forty.settings()))
    assert written >= 40
    failed = {place: left for place, moment in enumerate(renumbered(moments)) if (left := left_over(moment, wanted))}
    print(f"{moments.points} kill points, {len(moments)} of them different, {len(failed)} not restored")  # noqa: T201  # says how much was tried
    assert failed == {}


def test_a_kill_inside_the_rollback_of_forty_settings_is_taken_back():
    wanted, moments, _ = each_moment(flat(forty.settings()))
    inside(wanted, [*moments[60::16], moments[-1]])


def test_a_kill_inside_the_rollback_of_an_apply_that_was_killed_anywhere_is_taken_back():
    settings = [setting for setting in forty.settings() if setting.id in HARDEST]
    wanted, moments, _ = each_moment(flat(settings))
    inside(wanted, moments)


def inside(wanted: dict[str, str], moments: Sequence[Moment]) -> None:
    points, different, failed = 0, 0, []
    for place, moment in enumerate(renumbered(moments)):
        rollback = moments_of(roll_back, moment)
        points, different = points + rollback.points, different + len(rollback)
        failed += [(place, step, left) for step, later in enumerate(rollback) if (left := left_over(later, wanted))]
    print(f"{points} kill points, {different} of them different, {len(failed)} not restored")  # noqa: T201  # says how much was tried
    assert failed == []
