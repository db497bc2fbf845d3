"""Cpusets: whose groups are whose, where units live, what the plan announces. Plans and writes are in cases/cpusets."""

from __future__ import annotations

import pytest

from numatune.cpus import CpuSet
from numatune.errors import Problem
from numatune.knobs.base import Context, Refused
from numatune.knobs.cgroup_owner import owner_of
from numatune.knobs.cpuset_groups import Cpusets, group_key, parent_of
from numatune.knobs.cpusets import settings
from numatune.knobs.cpusets_systemd import unit_path
from numatune.settings.model import Refuse, Setting
from numatune.topology.model import Cgroups, Cpus, Machine, Node, Topology


def host(*, systemd: bool = True, version: int = 2, kernel: str = "6.12.0", **cgroups: object) -> Topology:
    root = "/sys/fs/cgroup" if version == 2 else "/sys/fs/cgroup/cpuset"
    memory = "/sys/fs/cgroup" if version == 2 else "/sys/fs/cgroup/memory"
    known = {"mode": "v2", "version": version, "cpuset_root": root, "memory_root": memory, "memory_version": version}
    return Topology(
        sections=frozenset(),
        machine=Machine(systemd=systemd, kernel=kernel),
        cpus=Cpus(online=CpuSet(range(8))),
        nodes=(
            Node(id=0, cpus=CpuSet(range(4)), kind="cpu+mem"),
            Node(id=1, cpus=CpuSet(range(4, 8)), kind="cpu+mem"),
            Node(id=2, cpus=CpuSet(), kind="memory-only"),
            Node(id=3, cpus=CpuSet(), kind="empty"),
        ),
        cgroups=Cgroups(**{**known, **cgroups}),  # type: ignore[arg-type]
    )


def made(topology: Topology, **groups: dict[str, object]) -> dict[str, Setting]:
    section = Cpusets.model_validate({name.replace("__", "."): group for name, group in groups.items()})
    return {setting.id: setting for setting in settings(section, Context(topology=topology))}


def refused(topology: Topology, **groups: dict[str, object]) -> list[tuple[tuple[str, ...], Problem]]:
    with pytest.raises(Refused) as raised:
        made(topology, **groups)
    return list(raised.value.problems)


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("kubepods", "kubelet"),
        ("kubepods.slice", "kubelet"),
        ("kubepods-besteffort.slice", "kubelet"),
        ("kubepods/burstable/pod1234", "kubelet"),
        ("docker", "Docker"),
        ("docker-0123456789ab.scope", "Docker"),
        ("docker/0123456789ab", "Docker"),
        ("libpod-0123456789ab.scope", "Podman"),
        ("cri-containerd-0123456789ab.scope", "containerd"),
        ("crio-0123456789ab.scope", "CRI-O"),
        ("slurm", "Slurm"),
        ("slurmd.service", "Slurm"),
        ("slurmstepd.scope", "Slurm"),
        ("machine.slice", "libvirt or systemd-machined"),
        ("machine-qemu-1-guest.scope", "libvirt"),
        ("lxc.payload.web", "LXC or Incus"),
    ],
)
def test_groups_of_others_are_known_by_their_names(name: str, owner: str):
    found = owner_of(name)
    assert found is not None
    assert found.name == owner


@pytest.mark.parametrize(
    "name",
    [
        "inference.slice",
        "system.slice",
        "user.slice",
        "init.scope",
        "docker.service",
        "containerd.service",
        "kubelet.service",
        "vllm@0.service",
        "slurpy.service",
        "dockerish",
    ],
)
def test_groups_of_nobody_else_are_free(name: str):
    assert owner_of(name) is None


@pytest.mark.parametrize(
    ("unit", "path"),
    [
        ("inference.slice", "inference.slice"),
        ("a-b-c.slice", "a.slice/a-b.slice/a-b-c.slice"),
        ("vllm.service", "system.slice/vllm.service"),
        ("vllm@0.service", "system.slice/system-vllm.slice/vllm@0.service"),
        ("init.scope", "init.scope"),
    ],
)
def test_a_units_group_is_where_systemd_puts_it(unit: str, path: str):
    assert unit_path(unit) == path


@pytest.mark.parametrize(
    ("name", "outer"),
    [("a/b/c", "a/b"), ("a", ""), ("a-b-c.slice", "a-b.slice"), ("a.slice", ""), ("a-b.service", "")],
)
def test_a_group_lies_in_the_one_that_its_name_says(name: str, outer: str):
    assert parent_of(name) == outer


@pytest.mark.parametrize("name", ["..", "a/../b", "", "a//b", "a b", "cgroup.procs", "a/cpuset.cpus", "a\nb", "ä"])
def test_what_can_be_no_group_is_refused(name: str):
    with pytest.raises(ValueError, match="is no control group"):
        group_key(name)


def test_slashes_around_a_group_say_nothing():
    assert group_key("/inference/decode/") == "inference/decode"


def test_memory_only_nodes_have_memory_and_empty_ones_have_not():
    assert made(host(), a__slice={"mems": "0,2"})["cpuset:a.slice/mems"].want == "0,2"
    ((path, problem),) = refused(host(), a__slice={"mems": "0,3"})
    assert (path, problem.found, problem.accepted) == (("a.slice", "mems"), "0,3 has node 3, not with memory", "0-2")


def test_a_kernel_without_nodes_has_node_0():
    topology = Topology(
        sections=frozenset(), cgroups=Cgroups(mode="v2", version=2, cpuset_root="/sys/fs/cgroup"), numa=False
    )
    assert made(topology, a={"mems": "0"})["cpuset:a/mems"].want == "0"
    assert refused(topology, a={"mems": "1"})


def test_before_linux_6_2_the_plan_announces_that_tasks_forget_their_affinity():
    old, new = host(systemd=False, kernel="6.1.0-44-amd64"), host(systemd=False, kernel="6.2.0")
    assert "forget the CPU affinity" in made(old, a={"cpus": "0"})["cpuset:/controllers"].note
    assert made(new, a={"cpus": "0"})["cpuset:/controllers"].note == ""
    assert "forget the CPU affinity" in made(host(kernel="6.1.0"), a__slice={"cpus": "0"})["cpuset:a.slice/cpus"].note


def test_before_linux_7_3_the_plan_announces_that_a_set_with_tasks_is_not_emptied_again():
    assert "holds everything instead" in made(host(systemd=False), a={"cpus": "0"})["cpuset:a/cpus"].note
    assert made(host(systemd=False, kernel="7.3.4"), a={"cpus": "0"})["cpuset:a/cpus"].note == ""


def test_partitions_that_leave_a_cpu_need_no_leave():
    some = {"cpus": "0-3", "partition": "root"}
    assert (
        made(host(systemd=False), a=some, b={"cpus": "4-6", "partition": "isolated"})["cpuset:a/partition"].guard
        is None
    )
    every = made(host(systemd=False), a=some, b={"cpus": "4-7", "partition": "isolated"})["cpuset:a/partition"].guard
    assert isinstance(every, Refuse)
    members = made(host(systemd=False), a={"cpus": "0-7", "partition": "member"})["cpuset:a/partition"]
    assert members.guard is None


def test_memory_without_a_controller_is_a_row():
    topology = host(systemd=False, controllers=("cpuset", "pids"))
    row = made(topology, a={"cpus": "0", "memory_max": "8G"})["cpuset:a/memory_max"]
    assert getattr(row.target, "status", None) == "unsupported"


def test_memory_on_v2_beside_cpuset_on_v1_has_its_own_tree():
    topology = host(systemd=False, version=1, mode="hybrid", memory_root="/sys/fs/cgroup/unified", memory_version=2)
    rows = made(topology, a={"cpus": "0", "mems": "0", "memory_max": "8G"})
    assert {sid: getattr(row.target, "path", None) or row.target.paths[0] for sid, row in rows.items()} == {  # type: ignore[union-attr]
        "cpuset:a/cgroup": "/sys/fs/cgroup/cpuset/a",
        "cpuset:/memory-controllers": "/sys/fs/cgroup/unified/cgroup.subtree_control",
        "cpuset:a/memory-cgroup": "/sys/fs/cgroup/unified/a",
        "cpuset:a/mems": "/sys/fs/cgroup/cpuset/a/cpuset.mems",
        "cpuset:a/cpus": "/sys/fs/cgroup/cpuset/a/cpuset.cpus",
        "cpuset:a/memory_max": "/sys/fs/cgroup/unified/a/memory.max",
    }


def test_a_v1_child_needs_its_parent_in_the_profile():
    found = refused(host(systemd=False, version=1), **{"a/b": {"cpus": "0", "mems": "0"}})
    assert [(path, problem.accepted) for path, problem in found] == [(("a/b",), "a beside it, with cpus and mems")]


def test_why_and_optional_go_with_the_key_that_has_them():
    rows = made(host(), a__slice={"cpus": {"value": "0-3", "why": "its node", "optional": True}, "mems": "0"})
    cpus, mems = rows["cpuset:a.slice/cpus"], rows["cpuset:a.slice/mems"]
    assert (cpus.why, cpus.optional, mems.why, mems.optional) == ("its node", True, "", None)


@pytest.mark.parametrize(("systemd", "name"), [(True, "a.slice"), (False, "a")])
def test_a_partition_that_became_invalid_is_told_as_what_a_cut_off_run_left(*, systemd: bool, name: str):
    group = {name.replace(".", "__"): {"cpus": "0-3", "partition": "root"}}
    codec = made(host(systemd=systemd), **group)[f"cpuset:{name}/partition"].codec
    assert codec.between("member\n", "root", "root invalid (Cpu list in cpuset.cpus not exclusive)\n")
    assert not codec.between("member\n", "root", "isolated\n")
