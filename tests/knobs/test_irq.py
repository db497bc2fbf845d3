"""Interrupts: which CPUs a rule means on which host. Plans and writes are in cases/irq."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from numatune.cpus import CpuSet
from numatune.knobs.base import Context
from numatune.knobs.irq import Irq, settings
from numatune.settings.codecs import CpuMask
from numatune.settings.model import Phase, Setting
from numatune.settings.targets import IrqAffinity, KernelFile, Nothing
from numatune.topology.model import Core, Cpus, Device, Interrupt, Machine, Node, Topology

NIC = Device(
    address="0000:41:00.0",
    class_="0200",
    kind="nic",
    driver="mlx5_core",
    names=("eth0", "mlx5_0"),
    node=0,
    resolved_node=0,
)
NVME = Device(address="0000:c1:00.0", class_="0108", kind="nvme", driver="nvme", node=1, resolved_node=1)
DISTANCES = {0: 10, 1: 21}


def host(*devices: Device, vectors: int = 3, **cpus: Any) -> Topology:
    """Two nodes of four cores with two threads each: 0-3,8-11 and 4-7,12-15."""
    return Topology(
        sections=frozenset(),
        machine=Machine(possible_cpus=16),
        cpus=Cpus(
            online=cpus.pop("online", CpuSet(range(16))),
            cores=tuple(Core(cpus=CpuSet([core, core + 8])) for core in range(8)),
            **cpus,
        ),
        nodes=(
            Node(id=0, cpus=CpuSet.parse("0-3,8-11"), kind="cpu+mem", distances={0: 10, 1: 21}),
            Node(id=1, cpus=CpuSet.parse("4-7,12-15"), kind="cpu+mem", distances={0: 21, 1: 10}),
        ),
        devices=devices,
        interrupts=tuple(
            Interrupt(number=24 + place * vectors + index, device=device.address, index=index, name=f"comp{index}")
            for place, device in enumerate(devices)
            for index in range(vectors)
        ),
    )


def made(topology: Topology, *rules: dict[str, Any], **section: Any) -> tuple[Setting, ...]:
    return settings(Irq.model_validate({"rules": list(rules), **section}), Context(topology=topology))


def wanted(topology: Topology, *rules: dict[str, Any]) -> dict[str, str | None]:
    return {setting.id: setting.want for setting in made(topology, *rules)}


def only(topology: Topology, *rules: dict[str, Any]) -> Setting:
    (setting,) = made(topology, *rules)
    return setting


def nothing(setting: Setting) -> Nothing:
    assert isinstance(setting.target, Nothing)
    return setting.target


LOCAL = {"match": {"class": "nic"}, "cpus": "local"}


def test_an_interrupt_is_known_by_device_and_index_and_its_name_is_only_a_label():
    first = made(host(NIC), {**LOCAL, "why": "near", "optional": True})[0]
    assert first.target == IrqAffinity("0000:41:00.0", 0, "comp0")
    assert (first.id, first.want, first.phase) == ("irq:0000:41:00.0/0", "0-3,8-11", Phase.IRQ)
    assert (first.why, first.optional, first.family) == ("near", True, "irq:0000:41:00.0")


def test_spread_core_gives_each_vector_one_core_with_its_siblings_and_starts_again():
    found = wanted(host(NIC, vectors=6), {**LOCAL, "spread": "core"})
    assert list(found.values()) == ["0,8", "1,9", "2,10", "3,11", "0,8", "1,9"]


def test_spread_cpu_uses_the_first_thread_of_each_core_before_any_second():
    found = wanted(host(NIC, vectors=6), {**LOCAL, "spread": "cpu"})
    assert list(found.values()) == ["0", "1", "2", "3", "8", "9"]


def test_spread_goes_by_msi_index_so_a_vector_keeps_its_core_when_others_come_and_go():
    topology = host(NIC, vectors=6)
    fewer = replace(topology, interrupts=tuple(irq for irq in topology.interrupts if irq.index != 2))
    all_of_them = wanted(topology, {**LOCAL, "spread": "core"})
    assert wanted(fewer, {**LOCAL, "spread": "core"}).items() < all_of_them.items()


def test_spread_counts_cpus_whose_core_is_unknown_as_cores_of_their_own():
    topology = host(NIC, vectors=3)
    bare = replace(topology, cpus=replace(topology.cpus, cores=()))
    assert list(wanted(bare, {**LOCAL, "spread": "core"}).values()) == ["0", "1", "2"]


def test_the_first_matching_rule_wins_and_the_next_gets_what_is_left():
    found = wanted(host(NIC), {"match": {"vector": "comp[1-9]"}, "cpus": "4"}, {"match": {"name": "eth*"}, "cpus": "5"})
    assert found == {"irq:0000:41:00.0/1": "4", "irq:0000:41:00.0/2": "4", "irq:0000:41:00.0/0": "5"}


@pytest.mark.parametrize(
    "match",
    [
        {"class": "nic"},
        {"address": "0000:41:*"},
        {"driver": "mlx5_*"},
        {"name": "mlx5_0"},
        {"name": "eth?"},
        {"class": "nic", "driver": "mlx5_core", "vector": "comp*"},
    ],
)
def test_every_way_to_match(match: dict[str, str]):
    found = wanted(host(NIC, NVME, vectors=1), {"match": match, "cpus": "all"})
    assert found == {"irq:0000:41:00.0/0": "0-15"}


def test_addresses_match_in_either_case():
    device = replace(NIC, address="0000:c1:00.0")
    assert wanted(host(device, vectors=1), {"match": {"address": "0000:C1:*"}, "cpus": "3"}) == {
        "irq:0000:c1:00.0/0": "3"
    }


def test_a_vector_without_a_name_while_the_link_is_down_is_still_placed_by_its_device():
    topology = host(NIC, vectors=1)
    down = replace(topology, interrupts=(replace(topology.interrupts[0], name=""),))
    assert wanted(down, LOCAL) == {"irq:0000:41:00.0/0": "0-3,8-11"}


def test_a_rule_without_cpus_leaves_its_interrupts_alone_and_keeps_later_rules_off_them():
    rows = made(host(NIC), {"match": {"class": "nic"}, "cpus": None}, {"match": {"class": "nic"}, "cpus": "0"})
    assert [row.id for row in rows] == ["irq:rules/0/0000:41:00.0", "irq:rules/1"]
    assert nothing(rows[0]) == Nothing("not-applicable", "left alone, as its rule names no cpus")


def test_away_from_alone_means_every_other_cpu():
    assert only(host(NIC, vectors=1), {"match": {"class": "nic"}, "away_from": "0-3,8-15"}).want == "4-7"


def test_away_from_a_set_that_is_empty_here_means_all():
    assert only(host(NIC, vectors=1), {"match": {"class": "nic"}, "away_from": CpuSet()}).want == "0-15"


def test_isolated_and_nohz_full_cpus_are_never_targets_and_the_row_says_so():
    topology = host(NIC, vectors=1, isolated=CpuSet([2, 10]), nohz_full=CpuSet([3, 11]))
    setting = only(topology, LOCAL)
    assert (setting.want, setting.note) == ("0-1,8-9", "isolated and nohz_full CPUs left out")
    setting = only(host(NIC, vectors=1, nohz_full=CpuSet([3, 11])), LOCAL)
    assert (setting.want, setting.note) == ("0-2,8-10", "nohz_full CPUs left out")
    every = host(NIC, isolated=CpuSet([0, 1]), nohz_full=CpuSet.parse("1-3,8-11"))
    row = nothing(only(every, LOCAL))
    assert row == Nothing("unsupported", "no CPU is left of 0-3,8-11; 0-1 isolated; 2-3,8-11 nohz_full")


def test_offline_cpus_of_an_explicit_set_are_left_out_and_named():
    topology = host(NIC, vectors=1, online=CpuSet(range(12)), offline=CpuSet(range(12, 16)))
    setting = only(topology, {"match": {"class": "nic"}, "cpus": "10-13"})
    assert (setting.want, setting.note) == ("10-11", "offline CPUs left out")


def test_cpus_that_this_host_has_not_are_unsupported_not_cut_to_fit():
    row = nothing(only(host(NIC), {"match": {"class": "nic"}, "cpus": "12-20"}))
    assert row == Nothing("unsupported", "CPUs 16-20 are not on this host; online are 0-15")


def test_no_cpu_left_is_a_row_and_never_the_whole_set_again():
    topology = host(NIC, isolated=CpuSet.parse("0-3"))
    row = nothing(only(topology, {**LOCAL, "away_from": "8-11"}))
    assert row == Nothing("unsupported", "no CPU is left of 0-3,8-11; 0-3 isolated; 8-11 kept free")


def test_an_unknown_node_is_its_own_state_and_never_node_0():
    setting = only(host(replace(NIC, node=None, resolved_node=None)), LOCAL)
    assert setting.id == "irq:rules/0/0000:41:00.0"
    assert nothing(setting) == Nothing("not-applicable", "the node of 0000:41:00.0 is unknown; name it under devices:")


def test_where_one_node_has_all_cpus_an_unknown_node_is_no_riddle():
    topology = host(replace(NIC, node=None, resolved_node=None), vectors=1)
    one = replace(topology, nodes=(replace(topology.nodes[0], cpus=CpuSet(range(16))),))
    assert only(one, LOCAL).want == "0-15"
    assert only(replace(topology, nodes=(), numa=False), LOCAL).want == "0-15"


def test_a_node_without_cpus_hands_over_to_the_nearest_that_has_some():
    topology = host(replace(NIC, resolved_node=5), vectors=1)
    far = Node(id=5, cpus=CpuSet(), kind="memory-only", distances={0: 28, 1: 17, 5: 10})
    setting = only(replace(topology, nodes=(*topology.nodes, far)), LOCAL)
    assert setting.want == "4-7,12-15"
    assert setting.note == "node 5 has no CPUs; node 1 is the nearest that has"


def test_a_node_that_is_not_there_gives_no_cpus_and_says_so():
    row = nothing(only(host(replace(NIC, resolved_node=7)), LOCAL))
    assert row == Nothing("not-applicable", "node 7 has no CPUs, and no distance tells the nearest")


def test_nodes_are_not_sockets_a_nic_of_one_of_four_nodes_gets_that_quarter():
    topology = host(replace(NIC, resolved_node=6), vectors=1)
    quarters = tuple(
        Node(id=node, cpus=CpuSet.parse(f"{first}-{first + 1},{first + 8}-{first + 9}"), kind="cpu+mem")
        for node, first in ((0, 0), (2, 2), (4, 4), (6, 6))
    )
    assert only(replace(topology, nodes=quarters), LOCAL).want == "6-7,14-15"


def test_a_rule_that_matches_nothing_is_a_row_that_names_it():
    setting = only(host(NVME), LOCAL)
    assert setting.id == "irq:rules/0"
    assert nothing(setting) == Nothing("not-applicable", "no interrupt matches class nic")


def test_a_rule_behind_a_wider_one_says_that_it_gets_nothing():
    rows = made(
        host(NIC, vectors=1), {"match": {"address": "*"}, "cpus": "0"}, {"match": {"name": "eth0"}, "cpus": "1"}
    )
    assert nothing(rows[1]).reason == "earlier rules take every interrupt that matches name eth0"


def test_a_device_without_message_signalled_interrupts_is_told_from_no_device():
    row = nothing(only(host(NIC, vectors=0), LOCAL))
    assert row.reason == "what matches class nic has no message-signalled interrupts"


def test_default_affinity_is_a_mask_as_wide_as_the_kernels():
    topology = replace(host(), machine=Machine(possible_cpus=40))
    (setting,) = made(topology, default_affinity="0-7")
    assert setting.target == KernelFile(("/proc/irq/default_smp_affinity",))
    assert (setting.codec, setting.want) == (CpuMask(width=40), "00,000000ff")
    assert "moves none that is active" in setting.note


def test_default_affinity_in_its_long_form_and_beyond_the_host():
    (setting,) = made(host(), default_affinity={"value": "0-20", "why": "all", "optional": True})
    assert nothing(setting).status == "unsupported"
    assert (setting.why, setting.optional) == ("all", True)


def test_null_default_affinity_is_not_managed():
    assert made(host(), default_affinity=None) == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"match": {}, "cpus": "local"},
            "accepted: at least one of class, address, driver, name, vendor, device, vector",
        ),
        ({"match": {"class": "gpu"}, "cpus": "local"}, "'accelerator', 'nic', 'nvme', 'infiniband' or 'other'"),
        ({"match": {"class": "nic"}, "cpus": "locla"}, "accepted: local, all, or CPUs like 0-3,8"),
        ({"match": {"class": "nic"}, "cpus": "3-1"}, "accepted: local, all, or CPUs like 0-3,8"),
        ({"match": {"class": "nic"}, "cpus": "local", "spread": "socket"}, "'core', 'cpu' or 'none'"),
        ({"match": {"class": "nic"}, "cpu": "local"}, "Extra inputs are not permitted"),
        ({"match": {"clas": "nic"}, "cpus": "local"}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_before_any_host_is_touched(rule: dict[str, Any], said: str):
    with pytest.raises(ValidationError, match=said):
        Irq.model_validate({"rules": [rule]})


def test_4096_interrupts_of_16_devices_all_get_their_cpus():
    devices = [replace(NIC, address=f"0000:{bus:02x}:00.0") for bus in range(16)]
    found = made(host(*devices, vectors=256), {**LOCAL, "spread": "core"})
    assert len({setting.id for setting in found}) == 4096
    assert {setting.want for setting in found} == {"0,8", "1,9", "2,10", "3,11"}
