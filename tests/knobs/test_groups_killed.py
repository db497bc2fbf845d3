"""A kill at any write of cgroups, properties and units: the rollback brings everything back, on every kind of host."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.kills import different, on_host
from fakes.road import Road
from fakes.trees import host_tree

from numatune.settings.plan import Action

UNIT = (
    "[Service]\nEnvironmentFile=-/etc/default/irqbalance\nExecStart=/usr/sbin/irqbalance $IRQBALANCE_ARGS\n"
    "[Install]\nWantedBy=multi-user.target\n"
)
IRQBALANCE = {
    "/lib/systemd/system/irqbalance.service": UNIT,
    "/etc/systemd/system/multi-user.target.wants/irqbalance.service": "-> /lib/systemd/system/irqbalance.service",
    "/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs": "712\n",
    "/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.subtree_control": "\n",
    "/proc/712/comm": "irqbalance\n",
}
SLICE = "/sys/fs/cgroup/inference.slice"
RUNNING_SLICE = {
    f"{SLICE}/cgroup.procs": "901\n",
    f"{SLICE}/cgroup.type": "domain\n",
    f"{SLICE}/cgroup.events": "populated 1\nfrozen 0\n",
    f"{SLICE}/cgroup.controllers": "cpu io memory pids\n",
    f"{SLICE}/cgroup.subtree_control": "\n",
    f"{SLICE}/memory.max": "max\n",
    f"{SLICE}/memory.current": "0\n",
    "/proc/901/comm": "python3\n",
    "/proc/901/status": "Name:\tpython3\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n",
}
NESTED = """
cpusets:
  serving: {cpus: 0-5, mems: 0-1, memory_max: 8G}
  serving/decode: {cpus: 4-5, mems: 1}
"""
HOSTS = {
    "a slice that runs": (
        {"nodes": 2},
        RUNNING_SLICE,
        "cpusets: {inference.slice: {cpus: 0-3, mems: 0, memory_max: 8G, partition: root}}",
    ),
    "a slice that does not": ({"nodes": 2}, {}, "cpusets: {inference.slice: {cpus: 0-3, mems: 0, memory_max: 8G}}"),
    "bare v2": ({"nodes": 2, "systemd": False}, {}, NESTED),
    "v1": ({"nodes": 2, "systemd": False, "cgroup": "v1"}, {}, NESTED),
    "irqbalance stopped": ({"nodes": 2}, IRQBALANCE, "services: {irqbalance: stopped}"),
    "irqbalance masked": ({"nodes": 2}, IRQBALANCE, "services: {irqbalance: masked}"),
    "irqbalance banned": (
        {"nodes": 2, "nics": 1},
        IRQBALANCE,
        "irq: {rules: [{match: {class: nic}, cpus: local}]}\nservices: {irqbalance: banned}",
    ),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_kill_at_any_write_is_taken_back(name: str, tmp_path: Path):
    shape, tree, text = HOSTS[name]
    whole = FakeKernel(host_tree(**shape) | tree)
    before = whole.state()
    for step in count():
        kernel = whole.copy()
        road = Road(kernel, tmp_path)
        changes = road.plan(text, allow_disruption=True)
        with on_host(step, kernel) as one:
            road.apply(changes)
        road.rollback()
        assert (step, different(kernel.state(), before)) == (step, {})
        if not one.died:
            break
    assert step >= 2 * len([change for change in changes.values() if change.action is not Action.NONE])


def test_tasks_are_as_free_as_before_once_the_slice_is_given_back(tmp_path: Path):
    """A reset to empty alone would leave them on the CPUs of the profile (systemd issue 43846)."""
    kernel = FakeKernel(host_tree(nodes=2) | RUNNING_SLICE)
    road = Road(kernel, tmp_path)
    road.apply(road.plan("cpusets: {inference.slice: {cpus: 0-3, mems: 0}}", allow_disruption=True))
    assert "Cpus_allowed_list:\t0-3\n" in (kernel.read("/proc/901/status").text or "")
    kernel.log.clear()
    road.rollback()
    assert "Cpus_allowed_list:\t0-7\n" in (kernel.read("/proc/901/status").text or "")
    told = [argv.rpartition(" ")[2] for argv, _ in kernel.log]
    assert told == ["AllowedMemoryNodes=0-1", "AllowedMemoryNodes=", "AllowedCPUs=0-7", "AllowedCPUs="]
    assert f"{SLICE}/cpuset.cpus" not in kernel.files


def test_the_first_memory_nodes_are_given_twice_so_that_pages_move(tmp_path: Path):
    """The change with which systemd switches cpuset on moves no page (seen on Linux 6.12), a later one does."""
    kernel = FakeKernel(host_tree(nodes=2) | RUNNING_SLICE)
    road = Road(kernel, tmp_path)
    given = []
    for mems in ("0", "1", "0-1"):
        road.apply(road.plan(f"cpusets: {{inference.slice: {{mems: {mems}}}}}", allow_disruption=True))
        given.append([argv.rpartition("=")[2] for argv, _ in kernel.log])
        kernel.log.clear()
    assert given == [["0", "0-1", "0"], ["1"], ["0-1"]]


def test_no_process_is_ever_moved(tmp_path: Path):
    for shape, tree, text in HOSTS.values():
        kernel = FakeKernel(host_tree(**shape) | tree)
        road = Road(kernel, tmp_path)
        road.apply(road.plan(text, allow_disruption=True))
        road.rollback()
        assert not [path for path, _ in kernel.log if path.endswith(("cgroup.procs", "tasks", "cgroup.threads"))]


def test_nothing_is_given_back_before_somebody_asks(tmp_path: Path):
    """Apply ends, and all that it did stays: no process of ours is left whose end could take it back."""
    for shape, tree, text in HOSTS.values():
        kernel = FakeKernel(host_tree(**shape) | tree)
        road = Road(kernel, tmp_path)
        road.apply(road.plan(text, allow_disruption=True))
        assert {row.action for row in Road(kernel, tmp_path).plan(text, allow_disruption=True).values()} == {
            Action.NONE
        }
        told = [
            argv.split()[2] for argv, what in kernel.log if what == "<run>" and argv.startswith("systemctl --no-ask")
        ]
        assert set(told) <= {"set-property", "stop", "disable", "mask"}


def test_a_banned_irqbalance_is_no_rival_any_more(tmp_path: Path):
    shape, tree, text = HOSTS["irqbalance banned"]
    kernel = FakeKernel(host_tree(**shape) | tree)
    road = Road(kernel, tmp_path)
    before = road.plan(text)
    assert {one.owner for row in before.values() for one in row.seen.conflicts} == {"irqbalance"}
    road.apply(before)
    assert [row.seen.conflicts for row in road.plan(text).values() if row.seen.conflicts] == []
