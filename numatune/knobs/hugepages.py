"""Hugepages: how many of which size each node keeps for hugetlb users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field, RootModel

from numatune.cpus import CpuSet
from numatune.knobs.base import Context, CpuSetField, Knob, Section
from numatune.knobs.node_ids import NodeId, without_memory
from numatune.knobs.page_sizes import GIVEN_BACK, gives_back, kb_of, size_key, spelled
from numatune.settings.codecs import Count, Text
from numatune.settings.model import FitsFree, Impact, Phase, Setting, SettingId
from numatune.settings.targets import HugepagePool, Nothing
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology


def _size(size: str) -> str:
    kb_of(size)
    return size


Size = Annotated[str, AfterValidator(_size)]
Pages = Annotated[int, Field(ge=0)]


class Pool(Section):
    """Pages of one size. Without any number that size is not managed.

    per_node  pages on each of `nodes`; null: not managed
    nodes     by default every node that has CPUs and memory
    by_node   pages on single nodes, before `per_node`; null: that node is not managed
    """

    per_node: Pages | None = None
    nodes: CpuSetField | None = None
    by_node: dict[NodeId, Pages | None] = Field(default_factory=dict)
    why: str = ""
    optional: bool | None = None


class Hugepages(RootModel[dict[Size, Pool | None]]):
    """Hugepages by size: ``{2M: {per_node: 512}, 1G: {by_node: {0: 8}}}``.

    Each node's own pool is set; vm.nr_hugepages is their sum and would be spread over all nodes.
    """


def settings(section: Hugepages, context: Context) -> tuple[Setting, ...]:
    """One setting for each node and size; one row for a size or a node that this host has not."""
    return tuple(
        setting for size, pool in section.root.items() if pool is not None for setting in _of_size(size, pool, context)
    )


def _of_size(size: str, pool: Pool, context: Context) -> Iterator[Setting]:
    topology, kb = context.topology, kb_of(size)
    lacking = _lacking(kb, topology)
    asked = Setting(
        id=SettingId(f"hugepages:{spelled(kb)}"),
        target=Nothing("unsupported", lacking),
        codec=Text(),
        want=_asked(pool),
        phase=Phase.HUGEPAGES,
        section="hugepages",
        source=context.source("hugepages", size),
        why=pool.why,
        optional=pool.optional,
        family=f"hugepages:{spelled(kb)}",
    )
    if lacking and asked.want:
        yield asked
    if lacking:
        return
    for node, pages in sorted(_pages(pool, topology).items()):
        each = replace(asked, id=SettingId(f"hugepages:node{node}/{spelled(kb)}"), want=str(pages))
        without = without_memory(node, topology)
        if without:
            yield replace(each, target=Nothing("unsupported", without))
        else:
            here = [one for one in topology.nodes if one.id == node]
            yield _held(each, HugepagePool(node, kb), shrinks=gives_back(pages, kb, here))


def _held(asked: Setting, pool: HugepagePool, *, shrinks: bool) -> Setting:
    """The setting of a pool that is there: never more than is free, nor fewer than are in use."""
    return replace(
        asked,
        undo="nearest" if shrinks else "exact",
        note=GIVEN_BACK if shrinks else "",
        target=pool,
        codec=Count(),
        impact_allowed=Impact.DISRUPTS,
        guard=FitsFree(f"/sys/devices/system/node/node{pool.node}/meminfo", pool.kb << 10, pool.folder),
    )


def _pages(pool: Pool, topology: Topology) -> dict[int, int]:
    """Pages by node."""
    nodes = pool.nodes
    if nodes is None:
        nodes = CpuSet(node.id for node in topology.nodes if node.kind == "cpu+mem")
    asked: dict[int, int | None] = {**dict.fromkeys(nodes, pool.per_node), **pool.by_node}
    return {node: pages for node, pages in asked.items() if pages is not None}


def _asked(pool: Pool) -> str:
    """What is wanted, for a row that stands for a whole size."""
    every = [] if pool.per_node is None else [f"{pool.per_node} per node"]
    return ", ".join([*every, *(f"node {node}: {pages}" for node, pages in pool.by_node.items() if pages is not None)])


def _lacking(kb: int, topology: Topology) -> str:
    """Why this host has no pools of a size, or ""."""
    if not topology.numa:
        return "this kernel has no nodes, and so no pool of each; vm.nr_hugepages under sysctl: is all of them"
    offered = sorted({*topology.hugepage_sizes, *(size for node in topology.nodes for size in node.hugepages)})
    if not offered:
        return "this kernel has no hugepages (needs CONFIG_HUGETLBFS)"
    if kb not in offered:
        return f"this kernel has no hugepages of {spelled(kb)}; it offers {', '.join(map(spelled, offered))}"
    return ""


KNOB = Knob(
    name="hugepages",
    model=Hugepages,
    reads=frozenset({TopologySection.NODES}),
    settings=settings,
    key=size_key,
)
