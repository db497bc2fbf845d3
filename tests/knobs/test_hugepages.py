"""Hugepages: sizes, nodes, and what a host has none of. Plans and writes are in cases/hugepages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from numatune.cpus import CpuSet
from numatune.knobs.base import Context
from numatune.knobs.hugepages import KNOB, Hugepages, kb_of, settings
from numatune.settings.codecs import Count
from numatune.settings.model import FitsFree, Impact, Phase, Setting
from numatune.settings.targets import HugepagePool, Nothing
from numatune.topology.model import Node, Pool, Topology

HOST = Topology(
    sections=frozenset(),
    nodes=(
        Node(id=0, cpus=CpuSet([0, 1]), kind="cpu+mem"),
        Node(id=1, cpus=CpuSet([2, 3]), kind="cpu+mem"),
        Node(id=4, cpus=CpuSet(), kind="memory-only"),
        Node(id=5, cpus=CpuSet([4]), kind="cpu-only"),
    ),
    hugepage_sizes=(2048, 1048576),
)


def made(topology: Topology = HOST, **section: Any) -> tuple[Setting, ...]:
    return settings(Hugepages.model_validate(section), Context(topology=topology))


def wanted(topology: Topology = HOST, **section: Any) -> dict[str, str | None]:
    return {setting.id: setting.want for setting in made(topology, **section)}


def test_each_node_with_cpus_and_memory_has_its_own_pool_and_no_other_unless_named():
    assert wanted(**{"2M": {"per_node": 512}}) == {"hugepages:node0/2M": "512", "hugepages:node1/2M": "512"}
    assert wanted(**{"2M": {"per_node": 512, "nodes": "1,4"}}) == {
        "hugepages:node1/2M": "512",
        "hugepages:node4/2M": "512",
    }


def test_single_nodes_come_before_per_node_and_null_leaves_a_node_alone():
    section = {"1G": {"per_node": 4, "by_node": {0: 8, 1: None, 4: 2}}}
    assert wanted(**section) == {"hugepages:node0/1G": "8", "hugepages:node4/1G": "2"}


def test_nodes_of_a_map_may_be_quoted():
    assert wanted(**{"1G": {"by_node": {"1": 8}}}) == {"hugepages:node1/1G": "8"}


def test_a_setting_is_the_pool_with_its_limits():
    first = made(**{"2M": {"per_node": 3, "nodes": [1], "why": "cache", "optional": True}})[0]
    assert first.target == HugepagePool(1, 2048)
    assert (first.codec, first.phase, first.why, first.optional) == (Count(), Phase.HUGEPAGES, "cache", True)
    pool = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB"
    assert first.guard == FitsFree("/sys/devices/system/node/node1/meminfo", 2 << 20, pool)
    assert (first.impact, first.impact_allowed) == (Impact.LIVE, Impact.DISRUPTS)


@pytest.mark.parametrize(
    ("size", "kb"),
    [("2M", 2048), ("2048kB", 2048), ("1G", 1 << 20), ("512M", 524288), ("64K", 64), ("2MB", 2048), ("2m", 2048)],
)
def test_sizes_in_every_spelling(size: str, kb: int):
    assert kb_of(size) == kb


@pytest.mark.parametrize("size", ["3M", "0M", "M", "2", "02M", "-2M", "2.5M", "2M\n", "٢M"])
def test_what_is_no_size_is_an_error_of_the_profile(size: str):
    with pytest.raises(ValidationError, match="is no page size; accepted: "):
        Hugepages.model_validate({size: {"per_node": 1}})


def test_two_spellings_of_a_size_are_one_key():
    assert {KNOB.key(size) for size in ("2M", "2048kB", "2048K", "2MB")} == {"2M"}


def test_a_size_that_this_host_lacks_is_one_row_with_the_sizes_it_has():
    (row,) = made(**{"512M": {"per_node": 1, "by_node": {1: 3}}})
    assert (row.id, row.want) == ("hugepages:512M", "1 per node, node 1: 3")
    assert row.target == Nothing("unsupported", "this kernel has no hugepages of 512M; it offers 2M, 1G")


def test_the_pools_of_the_nodes_tell_the_sizes_too():
    pool = {2048: Pool(total=0)}
    nodes = tuple(replace(node, hugepages=pool) for node in HOST.nodes[:2])
    assert wanted(replace(HOST, nodes=nodes, hugepage_sizes=()), **{"2M": {"per_node": 1}}) == {
        "hugepages:node0/2M": "1",
        "hugepages:node1/2M": "1",
    }


def test_no_hugepages_and_no_nodes_are_told_apart():
    (row,) = made(replace(HOST, hugepage_sizes=()), **{"2M": {"per_node": 1}})
    assert isinstance(row.target, Nothing)
    assert "CONFIG_HUGETLBFS" in row.target.reason
    (row,) = made(replace(HOST, nodes=(), numa=False), **{"2M": {"per_node": 1}})
    assert isinstance(row.target, Nothing)
    assert "vm.nr_hugepages under sysctl:" in row.target.reason


def test_nodes_that_this_host_has_not_or_that_have_no_memory_are_rows():
    rows = made(**{"2M": {"per_node": 1, "nodes": "0,5,7"}})
    assert [row.id for row in rows] == ["hugepages:node0/2M", "hugepages:node5/2M", "hugepages:node7/2M"]
    assert rows[1].target == Nothing("unsupported", "node 5 has no memory")
    assert rows[2].target == Nothing("unsupported", "this host has no node 7; it has 0-1,4-5")


def test_null_is_not_managed():
    assert made(**{"2M": None, "1G": {"per_node": None}}) == ()
    assert made(**{"2M": {}, "512M": {"per_node": None, "by_node": {0: None}}}) == ()


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ({"per_node": -1}, "greater than or equal to 0"),
        ({"per_node": 1.5}, "valid integer"),
        ({"per_node": True}, "valid integer"),
        ({"per_node": 1, "node": "0"}, "Extra inputs are not permitted"),
        ({"by_node": {"x": 1}}, "valid integer"),
    ],
)
def test_what_is_wrong_with_a_pool_is_said_before_any_host_is_touched(pool: dict[str, Any], said: str):
    with pytest.raises(ValidationError, match=said):
        Hugepages.model_validate({"2M": pool})
