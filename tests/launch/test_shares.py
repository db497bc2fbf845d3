"""Exclusive shares on random hosts: disjoint, whole cores, inside what is allowed, the same whoever computes them."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from numatune.cpus import CpuSet
from numatune.launch.model import Placement, Process
from numatune.launch.placement import of_ranks, place
from numatune.launch.policy import Policy, RankPolicy
from numatune.launch.ranks import Rank
from numatune.launch.shares import cores_in, split, union
from numatune.launch.visible import Seen
from numatune.topology.model import Core, Cpus, Device, Node, Section, Topology
from numatune.topology.resolve import resolve


@st.composite
def hosts(draw: st.DrawFn) -> Topology:
    """Sparse ids, SMT 1 to 8, uneven nodes, nodes without memory or without CPUs, devices anywhere that is known."""
    threads = draw(st.sampled_from([1, 2, 4, 8]))
    ids = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=6)))
    counts = [draw(st.integers(1, 9)) for _ in ids]
    total = sum(counts)
    adjacent = draw(st.booleans())
    order = draw(st.permutations(range(total))) if draw(st.booleans()) else list(range(total))
    cores = [CpuSet([core * threads + t if adjacent else core + t * total for t in range(threads)]) for core in order]
    nodes, start = [], 0
    for node, count in zip(ids, counts, strict=True):
        cpus = union(cores[start : start + count])
        start += count
        memory = draw(st.sampled_from([16, 16, 16, 0])) << 30
        nodes.append(Node(id=node, cpus=cpus, kind="cpu+mem" if memory else "cpu-only", memory_bytes=memory))
    if draw(st.booleans()):
        nodes.append(Node(id=50, cpus=CpuSet(), kind="memory-only", memory_bytes=1 << 34))
    where = draw(st.lists(st.sampled_from([node.id for node in nodes]), max_size=9))
    devices = tuple(
        Device(address=f"0000:{0x10 + place:02x}:00.0", class_="0302", kind="accelerator", vendor="10de", node=node)
        for place, node in enumerate(where)
    )
    online = union(cores)
    cpus = Cpus(online=online, cores=tuple(Core(cpus=core) for core in sorted(cores, key=lambda core: core.first)))
    return Topology(sections=frozenset(Section), cpus=cpus, nodes=tuple(nodes), devices=resolve(devices, nodes, online))


@st.composite
def cut(draw: st.DrawFn, topology: Topology) -> CpuSet:
    """The whole host, or some whole cores of it."""
    if draw(st.booleans()):
        return topology.cpus.online
    cores = draw(st.lists(st.sampled_from(topology.cpus.cores), min_size=1, unique_by=lambda core: core.cpus.first))
    return union(core.cpus for core in cores)


def process(topology: Topology, rank: int | None, size: int | None, cpus: CpuSet, seen: list[str]) -> Process:
    mems = CpuSet(node.id for node in topology.nodes)
    return Process(rank=Rank(rank, size), cpus=cpus, mems=mems, seen=tuple(map(Seen, seen)))


def overlaps(made: Placement) -> bool:
    """Whether it says itself that it has to share a core."""
    return any("they share" in step.reason for step in made.steps)


def check(topology: Topology, allowed: CpuSet, made: list[Placement]) -> None:
    for one in made:
        assert one.cpus
        assert one.cpus <= allowed
    if any(map(overlaps, made)):
        return
    for place_, one in enumerate(made):
        assert not any(one.cpus & other.cpus for other in made[:place_])
        for core in topology.cpus.cores:
            assert not core.cpus & one.cpus or core.cpus & allowed <= one.cpus


@given(st.data())
def test_devices_share_without_overlap_inside_what_is_allowed(data: st.DataObject):
    topology = data.draw(hosts())
    allowed = data.draw(cut(topology))
    seen = [device.address for device in topology.devices]
    policy = Policy(cpu="exclusive", reserve_cores=data.draw(st.integers(0, 3)))
    made = [place(topology, process(topology, rank, len(seen), allowed, seen), policy) for rank in range(len(seen))]
    check(topology, allowed, made)


@given(st.data())
def test_ranks_agree_without_a_word(data: st.DataObject):
    """Each rank sees its own device alone, or the devices in another order: its share is the same."""
    topology = data.draw(hosts())
    seen = [device.address for device in topology.devices]
    if not seen:
        return
    policy = Policy(cpu="exclusive", reserve_cores=data.draw(st.integers(0, 2)))
    whole = topology.cpus.online
    rank = data.draw(st.integers(0, len(seen) - 1))
    shuffled = data.draw(st.permutations(seen))
    common = place(topology, process(topology, rank, len(seen), whole, seen), policy)
    alone = place(topology, process(topology, rank, len(seen), whole, [seen[rank]]), policy)
    other = place(topology, process(topology, shuffled.index(seen[rank]), len(seen), whole, list(shuffled)), policy)
    assert common.cpus == alone.cpus == other.cpus
    assert common.memory == alone.memory == other.memory


@given(st.data())
def test_ranks_placed_together_are_where_each_is_alone(data: st.DataObject):
    """Whatever the mode, and with places written out for some of them, devices for some of them, or none."""
    topology = data.draw(hosts())
    seen = [device.address for device in topology.devices]
    size = data.draw(st.integers(1, 9))
    written = st.builds(RankPolicy, node=st.sampled_from([node.id for node in topology.nodes]))
    mode = data.draw(st.sampled_from(["node", "exclusive", "l3", "socket", "none"]))
    ranks = data.draw(st.dictionaries(st.integers(0, 9), written, max_size=2))
    policy = Policy(cpu=mode, reserve_cores=data.draw(st.integers(0, 2)), ranks=ranks)
    common = process(topology, None, None, data.draw(cut(topology)), seen)
    of = of_ranks(topology, common, policy, size)
    for rank in data.draw(st.permutations(range(size))):
        assert of(rank) == place(topology, dataclasses.replace(common, rank=Rank(rank, size)), policy)


@given(st.data())
def test_shares_of_a_nodes_devices_cover_the_node(data: st.DataObject):
    topology = data.draw(hosts())
    seen = [device.address for device in topology.devices]
    made = place(topology, process(topology, None, None, topology.cpus.online, seen), Policy(cpu="exclusive"))
    near = [node for node in topology.nodes if any(device.node == node.id for device in topology.devices)]
    for node in near:
        assert node.cpus <= made.cpus


@given(st.data())
def test_ranks_without_devices_share_the_whole(data: st.DataObject):
    topology = data.draw(hosts())
    allowed = data.draw(cut(topology))
    size = data.draw(st.integers(1, 12))
    policy = Policy(cpu="exclusive")
    made = [place(topology, process(topology, rank, size, allowed, []), policy) for rank in range(size)]
    check(topology, allowed, made)
    nodes = [node for node in topology.nodes if node.cpus & allowed]
    if size >= len(nodes) and not any(map(overlaps, made)):
        assert union(one.cpus for one in made) == allowed


@given(st.data())
def test_what_is_written_out_for_a_rank_is_nobody_elses(data: st.DataObject):
    topology = data.draw(hosts())
    seen = [device.address for device in topology.devices]
    if len(seen) < 2:
        return
    own = data.draw(st.sampled_from(topology.cpus.cores)).cpus
    rank = data.draw(st.integers(0, len(seen) - 1))
    policy = Policy(cpu="exclusive", ranks={rank: RankPolicy(cpus=own)})
    made = [
        place(topology, process(topology, one, len(seen), topology.cpus.online, seen), policy)
        for one in range(len(seen))
    ]
    assert made[rank].cpus == own
    others = [one for place_, one in enumerate(made) if place_ != rank and not any(s.warns for s in one.steps)]
    assert not any(one.cpus & own for one in others)


@given(st.data())
def test_memory_goes_where_there_is_some_unless_it_is_named(data: st.DataObject):
    topology = data.draw(hosts())
    seen = [device.address for device in topology.devices]
    allowed = CpuSet(data.draw(st.sets(st.sampled_from([node.id for node in topology.nodes]), min_size=1)))
    mode = data.draw(st.sampled_from(["preferred", "preferred-many", "bind", "interleave", "weighted-interleave"]))
    given_ = dataclasses.replace(process(topology, None, None, topology.cpus.online, seen), mems=allowed)
    made = place(topology, given_, Policy(memory=mode))
    kinds = {node.id: node.kind for node in topology.nodes}
    assert made.memory.nodes <= allowed
    assert all(kinds[node] == "cpu+mem" for node in made.memory.nodes)
    assert (made.memory.mode in {"none", "local"}) == (not made.memory.nodes)


@given(st.lists(st.integers(1, 4), max_size=20), st.integers(1, 9))
def test_the_first_shares_have_one_core_more(sizes: list[int], count: int):
    cores, start = [], 0
    for size in sizes:
        cores.append(CpuSet(range(start, start + size)))
        start += size
    shares = split(cores, count)
    assert len(shares) == count
    if len(cores) >= count:
        held = [sum(core <= share for core in cores) for share in shares]
        assert sum(held) == len(cores)
        assert held == sorted(held, reverse=True)
        assert held[0] - held[-1] <= 1


def test_neighbours_share_a_cache_whatever_the_numbers():
    cores = tuple(Core(cpus=CpuSet([cpu])) for cpu in range(8))
    caches = (CpuSet.parse("0,2,4,6"), CpuSet.parse("1,3,5,7"))
    topology = Topology(sections=frozenset(), cpus=Cpus(online=CpuSet(range(8)), cores=cores, l3=caches))
    assert split(cores_in(topology, CpuSet(range(8))), 2) == list(caches)
