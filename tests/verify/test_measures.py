"""Plan and verify measure the same on hosts of any shape, though they look at other places."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fakes.asked import AskedHost
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune.cpus import CpuSet
from numatune.engine.kinds import trait as plan
from numatune.settings.codecs import Tally
from numatune.settings.measures import Measure, Memory, Nodes, NodesPerPackage, OnlineCpus, Threads
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import Trait
from numatune.verify.asking import Asking
from numatune.verify.judge import judge

GIB = 1 << 30
CPU, NODE = "/sys/devices/system/cpu", "/sys/devices/system/node"
LATE = {f"{NODE}/node0/meminfo": "Node 0 MemTotal: 4194304 kB\nNode 0 MemFree: 4000000 kB\n"}
SMALLER = {f"{NODE}/node1/meminfo": "Node 1 MemTotal: 15099492 kB\nNode 1 MemFree: 1000 kB\n"}

HOSTS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "two nodes": ({"nodes": 2, "threads": 2}, {}),
    "one node with less, hardly any of it free": ({"nodes": 2}, SMALLER),
    "CPUs without memory, and memory without CPUs": ({"nodes": [0], "cpu_only": [1], "memory_only": [2]}, {}),
    "more memory without CPUs than with": ({"nodes": 2, "memory_only": [2, 3, 4]}, {}),
    "one node whose zones are filled late": ({"nodes": 1, "memory_per_node": 16 * GIB}, LATE),
    "two nodes to a package, odd sizes": (
        {"nodes": 4, "nodes_per_package": 2, "memory_per_node": 16 * GIB - 77824},
        {},
    ),
    "an empty node": ({"nodes": 2, "empty": [2]}, {}),
    "threads that are off": ({"nodes": 2, "threads": 2, "offline": "1,3,5,7"}, {}),
}
MEASURES: tuple[Measure, ...] = (
    *(Memory(which) for which in ("total", "smallest_node", "imbalance")),
    *(Nodes(which) for which in ("all", "cpu", "cpu_only", "memory", "memory_only")),
    OnlineCpus(),
    Threads(),
    NodesPerPackage(),
)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_both_measure_the_same(host: str, measure: Measure) -> None:
    arguments, more = HOSTS[host]
    kernel = FakeKernel({**host_tree(**arguments), **more})
    setting = Setting(
        id=SettingId("expect:x"), target=Trait(measure), codec=Tally(), want="1", phase=Phase.EXPECT, section="expect"
    )
    planned = plan.look(Trait(measure), setting, kernel).text
    verified = judge(setting, {}, Asking(asked(kernel))).found
    assert planned
    assert verified
    assert Tally().measure(planned) == Tally().measure(verified)


def asked(kernel: FakeKernel) -> AskedHost:
    """The same host as other programs show it."""
    page = 4096
    online = CpuSet.parse(kernel.files[f"{CPU}/online"])
    sizes = {node: kib * 1024 // page for node in nodes(kernel) if (kib := total(kernel, f"{NODE}/node{node}/meminfo"))}
    columns = [(cpu, core(kernel, cpu), node_of(kernel, cpu), package(kernel, cpu)) for cpu in online]
    files = {
        **kernel.files,
        "/proc/stat": "".join(f"cpu{cpu} 1 2 3\n" for cpu in online),
        "/proc/zoneinfo": "".join(
            f"Node {node}, zone Normal\n        managed  {size}\n" for node, size in sizes.items()
        ),
    }
    commands = {
        ("getconf", "PAGESIZE"): f"{page}\n",
        ("getconf", "_PHYS_PAGES"): f"{total(kernel, '/proc/meminfo') * 1024 // page}\n",
        ("lscpu", "-p=cpu,core,socket"): "".join(f"{cpu},{one},{socket}\n" for cpu, one, _, socket in columns),
        ("lscpu", "-p=cpu,node,socket"): "".join(f"{cpu},{node},{socket}\n" for cpu, _, node, socket in columns),
    }
    return AskedHost(files, commands, programs=frozenset({"getconf", "lscpu"}))


def total(kernel: FakeKernel, path: str) -> int:
    found = re.search(r"MemTotal: +(\d+) kB", kernel.files.get(path, ""))
    return int(found[1]) if found else 0


def nodes(kernel: FakeKernel) -> CpuSet:
    return CpuSet.parse(kernel.files[f"{NODE}/online"])


def node_of(kernel: FakeKernel, cpu: int) -> int:
    return next(node for node in nodes(kernel) if cpu in CpuSet.parse(kernel.files[f"{NODE}/node{node}/cpulist"]))


def core(kernel: FakeKernel, cpu: int) -> int:
    return CpuSet.parse(kernel.files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"]).first


def package(kernel: FakeKernel, cpu: int) -> str:
    return kernel.files[f"{CPU}/cpu{cpu}/topology/physical_package_id"].strip()
