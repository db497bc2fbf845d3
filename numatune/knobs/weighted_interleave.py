"""weighted_interleave: how many pages in a row each node gets, for memory whose owner asks for that policy.

Set for the whole host and used by nobody who does not ask (MPOL_WEIGHTED_INTERLEAVE). Which nodes take part is said by
who asks; equal nodes need no weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import Field

from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Refused, Section, wanted
from numatune.knobs.node_ids import NodeId, without_memory
from numatune.settings.codecs import Bool, Int
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import KernelFile, Nothing
from numatune.topology.kernel import at_least
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology

_ROOT: Final = "/sys/kernel/mm/mempolicy/weighted_interleave"
_AUTO: Final = (f"{_ROOT}/auto", f"{_ROOT}/__auto_type")
"""Linux 6.18 has it under the second name: a macro of that kernel makes it of the word ``auto``."""
_BY_THE_CPUS: Final = 1
"""The class of accesses from which the kernel works weights out (Linux mm/mempolicy.c, mempolicy_set_node_perf)."""
_AUTO_SINCE: Final = "since Linux 6.16"
_NO_WAY_BACK: Final = "switches auto off, which comes back with a reboot only: no bandwidths are known here"

Weight = Annotated[int, Field(ge=1, le=255)]


class WeightedInterleave(Section):
    """``{auto: true}``, or ``{weights: {0: 4, 1: 1}}``.

    auto     weights follow the bandwidths that the firmware tells (HMAT, CDAT); Linux 6.16 and later
    weights  pages in a row by node, 1 to 255; the kernel then no longer works them out
    """

    auto: Asked[bool] | None = None
    weights: dict[NodeId, Asked[Weight] | None] = Field(default_factory=dict)


def settings(section: WeightedInterleave, context: Context) -> tuple[Setting, ...]:
    """`auto`, and one setting for each node."""
    if section.auto and section.auto.value and any(section.weights.values()):
        where = context.source("weighted_interleave", "auto")
        found = f"weights besides auto: true ({where}), and each write of one switches auto off"
        raise Refused((("weights",), Problem("", found, "one of them")))
    return (*_auto(section, context), *_weights(section, context))


def _auto(section: WeightedInterleave, context: Context) -> Iterator[Setting]:
    if section.auto is None:
        return
    target: KernelFile | Nothing = KernelFile(_AUTO, absent=_AUTO_SINCE)
    if section.auto.value and not _bandwidths(context.topology):
        lacking = "the firmware here tells no bandwidths (HMAT, CDAT)"
        target = Nothing("unsupported", f"{lacking}, so each node weighs the same; weights can be given by node")
    made = wanted(
        context,
        ("weighted_interleave", "auto"),
        section.auto,
        want="true" if section.auto.value else "false",
        target=target,
        codec=Bool(),
        phase=Phase.TIERS,
    )
    beside = _watched_weights(context.topology)
    yield replace(
        made,
        companions=beside if section.auto.value else (),
        after=tuple(one.id for one in beside),
        undo=_undo(context.topology),
    )


def _weights(section: WeightedInterleave, context: Context) -> Iterator[Setting]:
    auto = _watched_auto(context.topology)
    for node, asked in sorted(section.weights.items()):
        if asked is None:
            continue
        without = without_memory(node, context.topology)
        made = wanted(
            context,
            ("weighted_interleave", "weights", str(node)),
            asked,
            want=str(asked.value),
            target=Nothing("unsupported", without) if without else _file(node),
            codec=Int(),
            phase=Phase.TIERS,
        )
        note = _NO_WAY_BACK if auto.undo == "never" and not section.auto else ""
        yield replace(
            made, id=_id(node), family="weighted_interleave:weights", companions=(auto,), note=note, home="tmpfiles.d"
        )


def _watched_weights(topology: Topology) -> tuple[Setting, ...]:
    """What the kernel works out anew when auto is switched on."""
    return tuple(
        Setting(
            id=_id(node.id),
            target=_file(node.id),
            codec=Int(),
            want=None,
            phase=Phase.TIERS,
            section="weighted_interleave",
        )
        for node in topology.nodes
        if not without_memory(node.id, topology)
    )


def _watched_auto(topology: Topology) -> Setting:
    """`auto`, which the write of a weight switches off. It comes back last, because weights follow from it."""
    weights = _watched_weights(topology)
    return Setting(
        id=SettingId("weighted_interleave:auto"),
        target=KernelFile(_AUTO, absent=_AUTO_SINCE),
        codec=Bool(),
        want=None,
        phase=Phase.TIERS,
        section="weighted_interleave",
        after=tuple(one.id for one in weights),
        companions=weights,
        undo=_undo(topology),
    )


def _undo(topology: Topology) -> Literal["exact", "never"]:
    """Whether auto can be switched on again. It is on at boot, with or without bandwidths."""
    has_auto = at_least(topology.machine.kernel, 6, 16)
    return "never" if has_auto and not _bandwidths(topology) else "exact"


def _id(node: int) -> SettingId:
    return SettingId(f"weighted_interleave:node{node}")


def _file(node: int) -> KernelFile:
    return KernelFile((f"{_ROOT}/node{node}",), absent="since Linux 6.9, needs CONFIG_NUMA")


def _bandwidths(topology: Topology) -> bool:
    """Whether the firmware tells any, without which auto cannot be switched on (ENODEV)."""
    return any(
        access.access_class == _BY_THE_CPUS and (access.read_bandwidth or access.write_bandwidth)
        for node in topology.nodes
        for access in node.access
    )


KNOB: Final = Knob(
    name="weighted_interleave",
    model=WeightedInterleave,
    reads=frozenset({TopologySection.NODES}),
    settings=settings,
)
