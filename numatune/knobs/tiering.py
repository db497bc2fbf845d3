"""tiering: cold pages go down to slower memory (CXL) instead of away, hot ones come up again.

Going down (demotion) is a part of reclaim; coming up is mode 2 of automatic NUMA balancing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import Field

from numatune.cpus import CpuSet
from numatune.knobs.base import Asked, Context, Knob, Section, joined, wanted
from numatune.knobs.sysctl_catalogue import CATALOGUE
from numatune.settings.codecs import Bool, Int
from numatune.settings.model import Guard, Phase, Refuse, Setting
from numatune.settings.targets import KernelFile, Nothing
from numatune.topology.kernel import at_least
from numatune.topology.model import Node
from numatune.topology.model import Section as TopologySection

_DEMOTION: Final = "/sys/kernel/mm/numa/demotion_enabled"
_BALANCING: Final = "/proc/sys/kernel/numa_balancing"
_RATE: Final = "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
_TIERING: Final = 2
"""The bit of kernel.numa_balancing that promotes; since Linux 5.18, before that the file takes 0 and 1."""
_STAYS_DOWN: Final = "a rollback brings nothing up again that has gone down"

Rate = Annotated[int, Field(ge=0, le=0x7FFFFFFF)]


class Tiering(Section):
    """``{demotion: true, numa_balancing: 2}``.

    demotion                 reclaim moves pages to the next slower tier
    numa_balancing           2 promotes hot pages, 3 balances between equal nodes besides; the same file as
                             sysctl: kernel.numa_balancing
    promote_rate_limit_MBps  how much comes up at most, MB/s for each faster node
    """

    demotion: Asked[bool] | None = None
    numa_balancing: Asked[Literal[0, 1, 2, 3]] | None = None
    promote_rate_limit_MBps: Asked[Rate] | None = None  # noqa: N815  # as the kernel spells it


def settings(section: Tiering, context: Context) -> tuple[Setting, ...]:
    """One setting for each key."""
    return (*_balancing(section, context), *_rate(section, context), *_demotion(section, context))


def _balancing(section: Tiering, context: Context) -> Iterator[Setting]:
    asked = section.numa_balancing
    if asked is None:
        return
    target: KernelFile | Nothing = KernelFile((_BALANCING,), absent="needs CONFIG_NUMA_BALANCING")
    if asked.value & _TIERING and not at_least(context.topology.machine.kernel, 5, 18):
        target = Nothing("unsupported", "kernel.numa_balancing promotes since Linux 5.18")
    made = wanted(
        context,
        ("tiering", "numa_balancing"),
        asked,
        want=str(asked.value),
        target=target,
        codec=Int(),
        phase=Phase.BALANCING,
    )
    stays = CATALOGUE["kernel.numa_balancing"].note_for(made.want or "")
    forgets = "the kernel forgets the thresholds that it has learned" if asked.value & _TIERING else ""
    yield replace(made, note=joined(stays, forgets), home="sysctl.d")


def _rate(section: Tiering, context: Context) -> Iterator[Setting]:
    asked = section.promote_rate_limit_MBps
    if asked is None:
        return
    made = wanted(
        context,
        ("tiering", "promote_rate_limit_MBps"),
        asked,
        want=str(asked.value),
        target=KernelFile((_RATE,), absent="since Linux 6.1, needs CONFIG_NUMA_BALANCING"),
        codec=Int(),
        phase=Phase.BALANCING,
    )
    promotes = section.numa_balancing is not None and section.numa_balancing.value & _TIERING
    yield replace(made, note="" if promotes else "counts while kernel.numa_balancing is 2 or 3 only", home="sysctl.d")


def _demotion(section: Tiering, context: Context) -> Iterator[Setting]:
    asked = section.demotion
    if asked is None:
        return
    made = wanted(
        context,
        ("tiering", "demotion"),
        asked,
        want="true" if asked.value else "false",
        target=KernelFile((_DEMOTION,), absent="since Linux 5.15, needs CONFIG_NUMA and page migration"),
        codec=Bool(),
        phase=Phase.TIERS,
    )
    if not asked.value:
        yield replace(made, home="tmpfiles.d")
        return
    nodes = context.topology.nodes
    note = _STAYS_DOWN if _below(nodes, nodes) else "this host has one tier of memory: nothing is demoted"
    yield replace(made, note=note, guard=_leaking(context), home="tmpfiles.d")


def _leaking(context: Context) -> Guard | None:
    """Demotion leaves cpuset.mems aside up to Linux 6.15, and later for shared pages (Documentation of CXL reclaim)."""
    topology = context.topology
    leaks = []
    for one in context.made:
        kept = one.section == "cpusets" and one.id.endswith("/mems") and not isinstance(one.target, Nothing)
        if kept and one.want:
            mems = CpuSet.parse(one.want)
            down = _below([node for node in topology.nodes if node.id in mems], topology.nodes) - mems
            if down:
                group = one.id.removeprefix("cpuset:").removesuffix("/mems")
                leaks.append(f"{group} is kept to nodes {mems}, and its pages would go to {down} all the same")
    when = "shared ones, that is" if at_least(topology.machine.kernel, 6, 16) else "before Linux 6.16"
    return Refuse(f"{'; '.join(leaks)} ({when})") if leaks else None


def _below(above: Iterable[Node], nodes: Iterable[Node]) -> CpuSet:
    """Nodes to which pages of `above` may be demoted: of a slower tier; memory alone where no tiers are told."""
    tiers = [node.tier for node in above if node.tier is not None]
    if tiers:
        return CpuSet(node.id for node in nodes if node.tier is not None and node.tier > min(tiers))
    return CpuSet(node.id for node in nodes if node.kind == "memory-only")


KNOB: Final = Knob(
    name="tiering",
    model=Tiering,
    reads=frozenset({TopologySection.NODES}),
    settings=settings,
)
