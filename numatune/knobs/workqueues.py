"""workqueues: which CPUs do the kernel's own work that is bound to none (Documentation/core-api/workqueue.rst)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from numatune.cpus import CpuSet
from numatune.knobs.base import Asked, Context, CpuSetField, Knob, Path, Section, wanted
from numatune.knobs.cpu_masks import lacking, unusable, width
from numatune.settings.codecs import CpuMask
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import KernelFile, Nothing
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology

_ROOT: Final = "/sys/devices/virtual/workqueue"
_ABSENT: Final = "this kernel shows no workqueues"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:!-]{0,63}", re.ASCII)
_OWN_FILES: Final = frozenset({"cpumask", "power", "uevent"})


def _queue(name: str) -> str:
    if not _NAME.fullmatch(name) or name in _OWN_FILES:
        raise ValueError(f"{name!r} is no workqueue; accepted: a name below {_ROOT}, like writeback")
    return name


Queue = Annotated[str, AfterValidator(_queue)]


class Workqueues(Section):
    """``{cpumask: 0-1}``: work that is bound to no CPU runs on these.

    cpumask  of all unbound workqueues; an isolated partition takes its CPUs out by itself
    queues   of single ones that can be set (``{writeback: 0-1}``), within `cpumask`
    """

    cpumask: Asked[CpuSetField] | None = None
    queues: dict[Queue, Asked[CpuSetField] | None] = Field(default_factory=dict)


def settings(section: Workqueues, context: Context) -> tuple[Setting, ...]:
    """One setting for all, one for each that is named."""
    every = {} if section.cpumask is None else {"cpumask": section.cpumask}
    return (
        *_masks(every, ("workqueues",), "", _ABSENT, context),
        *_masks(section.queues, ("workqueues", "queues"), "/cpumask", "this kernel shows no such workqueue", context),
    )


def _masks(
    asked: Mapping[str, Asked[CpuSet] | None], above: Path, below: str, absent: str, context: Context
) -> Iterator[Setting]:
    for name, one in asked.items():
        if one is None:
            continue
        wrong = lacking(unusable(one.value, context.topology), context.source(*above, name))
        mask = CpuMask(width=width(context.topology))
        made = wanted(
            context,
            (*above, name),
            one,
            want=str(one.value) if wrong else one.value.mask(mask.width),
            target=Nothing("unsupported", wrong) if wrong else KernelFile((f"{_ROOT}/{name}{below}",), absent=absent),
            codec=mask,
            phase=Phase.IRQ,
        )
        yield replace(made, home="tmpfiles.d")


def watched(topology: Topology) -> Setting:
    """The mask of all, which the kernel rewrites when a cpuset becomes an isolated partition (Linux 6.7 and later)."""
    return Setting(
        id=SettingId("workqueues:cpumask"),
        target=KernelFile((f"{_ROOT}/cpumask",), absent=_ABSENT),
        codec=CpuMask(width=width(topology)),
        want=None,
        phase=Phase.IRQ,
        section="workqueues",
    )


KNOB: Final = Knob(
    name="workqueues",
    model=Workqueues,
    reads=frozenset({TopologySection.CPUS}),
    settings=settings,
)
