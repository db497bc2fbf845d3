"""A plan of a few settings carried out on a fake kernel, and taken back."""

from __future__ import annotations

from collections.abc import Sequence

from fakes.forty import NIC
from fakes.journal import MemoryJournal, start
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from fakes.usual import USUAL
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.settings.codecs import CpuList
from numatune.settings.journal import Record
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Change, Outcome
from numatune.settings.targets import IrqAffinity

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


def setting_of_irq(index: int, want: str) -> Setting:
    return Setting(
        id=SettingId(f"irq:{NIC}/{index}"),
        target=IrqAffinity(NIC, index),
        codec=CpuList(),
        want=want,
        phase=Phase.IRQ,
        section="irq",
    )
