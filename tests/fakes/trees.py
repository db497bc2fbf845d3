"""Generated hosts: /sys and /proc of a machine of any shape, as the kernel would spell it.

A tree maps absolute paths to texts. A text that starts with ``-> `` is a symbolic link to what follows it; a path that
ends in ``/`` is an empty folder. `Tree.modes` holds the permission bits that are not 0644 (managed interrupts).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakes import power
from fakes.masks import workqueues
from fakes.modules import modules
from fakes.tree_devices import devices
from fakes.tree_kernel import cgroups, sched_debug, sysctls, thp
from fakes.tree_memory import ksm, weighted_interleave
from numatune.cpus import CpuSet
from numatune.host.memory import MemoryTree

LINK = "-> "
GIB = 1 << 30


class Tree(dict[str, str]):
    """Paths and texts, and beside them the modes that are not 0644."""

    def __init__(self, files: Mapping[str, str] | None = None, modes: Mapping[str, int] | None = None) -> None:
        super().__init__(files or {})
        self.modes = dict(modes or {})


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What was asked for, worked out: `cores` maps a node to its cores, each a tuple of its CPU numbers."""

    nodes: tuple[int, ...]
    cores: Mapping[int, tuple[tuple[int, ...], ...]]
    packages: Mapping[int, int]
    memory: Mapping[int, int]
    offline: CpuSet
    kernel: str
    width: int
    hugepages: Mapping[int, int]
    modes: dict[str, int] = field(default_factory=dict)

    @property
    def all_cpus(self) -> CpuSet:
        """Online and offline."""
        return CpuSet(cpu for cores in self.cores.values() for core in cores for cpu in core)

    @property
    def online(self) -> CpuSet:
        """Of all nodes."""
        return self.all_cpus - self.offline

    def cpus(self, node: int) -> CpuSet:
        """Online CPUs of one node."""
        return CpuSet(cpu for core in self.cores.get(node, ()) for cpu in core) - self.offline


def host_tree(  # noqa: PLR0913  # a host has that many properties, and cases name the few that they mean
    *,
    nodes: int | Sequence[int] = 2,
    cpus_per_node: int = 4,
    threads: int = 1,
    numbering: str = "blocks",
    nodes_per_package: int = 1,
    memory_per_node: int = 16 * GIB,
    memory_only: Sequence[int] = (),
    cpu_only: Sequence[int] = (),
    empty: Sequence[int] = (),
    offline: str = "",
    isolated: str = "",
    nohz_full: str = "",
    possible_cpus: int = 0,
    distances: Sequence[Sequence[int]] = (),
    tiers: Mapping[int, str] | None = None,
    bandwidths: Mapping[int, int] | None = None,
    hugepages: Mapping[int, int] | None = None,
    nics: int | Sequence[Mapping[str, Any]] = 0,
    accelerators: int | Sequence[Mapping[str, Any]] = 0,
    nvmes: int | Sequence[Mapping[str, Any]] = 0,
    infiniband: int | Sequence[Mapping[str, Any]] = 0,
    other_devices: Sequence[Mapping[str, Any]] = (),
    remapping: bool = False,
    kernel: str = "6.12.0",
    arch: str = "x86_64",
    cpufreq: str = "",
    cpus_per_policy: int = 1,
    idle_states: Sequence[str] = (),
    virt: str = "none",
    distribution: str = "debian 13",
    cmdline: str = "BOOT_IMAGE=/vmlinuz quiet",
    cgroup: str = "v2",
    systemd: bool = True,
    with_thp: bool = True,
    debugfs: bool = False,
    sysctl: Mapping[str, str | None] | None = None,
) -> Tree:
    """A host.

    nodes          how many nodes with CPUs and memory, or their ids
    cpus_per_node  CPUs, not cores; `threads` of them are one core
    numbering      "blocks": cores of node 0 first, then of node 1, second threads after all first ones;
                   "interleaved": one core of each node in turn
    memory_only, cpu_only, empty   ids of nodes that lack CPUs, memory, both
    hugepages      kB -> pages on each node; default {2048: 0, 1048576: 0}
    tiers          memory tier -> node list
    bandwidths     node -> MB/s as HMAT tells it; default: the firmware has no HMAT
    nics, accelerators, nvmes, infiniband   how many, spread over the nodes with CPUs, or one mapping each: see
                   tree_devices.devices
    cpufreq        "intel_pstate", "acpi-cpufreq", "" for none; a policy has `cpus_per_policy`
    idle_states    names of those that every CPU has
    virt           "none", or what a hypervisor calls itself ("kvm")
    cgroup         "v2", "v1", "hybrid", "none"
    sysctl         key -> text laid over the kernel's defaults; None takes one away
    """
    full = list(range(nodes)) if isinstance(nodes, int) else list(nodes)
    with_cpus = sorted({*full, *cpu_only})
    with_memory = sorted({*full, *memory_only})
    ids = tuple(sorted({*with_cpus, *with_memory, *empty}))
    cores = _cores(with_cpus, cpus_per_node, threads, numbering)
    highest = max(cpu for group in cores.values() for core in group for cpu in core)
    shape = Shape(
        nodes=ids,
        cores=cores,
        packages={node: place // nodes_per_package for place, node in enumerate(with_cpus)},
        memory={node: memory_per_node if node in with_memory else 0 for node in ids},
        offline=CpuSet.parse(offline),
        kernel=kernel,
        width=possible_cpus or highest + 1,
        hugepages={2048: 0, 1048576: 0} if hugepages is None else hugepages,
    )
    tree = Tree()
    tree.update(_cpus(shape, isolated, nohz_full))
    for place, node in enumerate(ids):
        row = distances[place] if distances else [_distance(shape, node, other) for other in ids]
        tree.update(_node(shape, node, row))
    tree.update(_node_lists(shape))
    tree.update(_memory(shape, tiers or {}))
    tree.update(weighted_interleave(kernel, shape.memory, bandwidths or {}))
    tree.update(power.cpuidle(idle_states, shape.online))
    if cpufreq:
        tree.update(power.cpufreq(cpufreq, shape.online, cpus_per_policy))
    tree.update(workqueues(kernel, shape.online, shape.width))
    tree.update(_identity(shape, arch, virt, distribution, cmdline, systemd=systemd))
    tree.update(cgroups(cgroup, shape.online, CpuSet(with_memory), systemd=systemd))
    tree.update(sysctls(kernel, sysctl or {}, numa=len(ids) > 1, hugepages=shape.hugepages.get(2048, 0) * len(full)))
    if with_thp:
        tree.update(thp(kernel))
    tree.update(ksm(kernel))
    tree.update(modules(kernel))
    if debugfs:
        tree.update(sched_debug(kernel))
    asked = {"nic": nics, "accelerator": accelerators, "nvme": nvmes, "infiniband": infiniband}
    tree.update(devices(shape, asked, other_devices, remapping=remapping))
    tree.modes.update(shape.modes)
    return tree


def memory(tree: Mapping[str, str], root: str = "generated") -> MemoryTree:
    """A tree as a Reader that no kernel stands behind."""
    made = MemoryTree(root)
    modes: Mapping[str, int] = getattr(tree, "modes", {})
    for path, text in tree.items():
        if path.endswith("/"):
            made.folder(path.rstrip("/"))
        elif text.startswith(LINK):
            made.link(path, text[len(LINK) :])
        else:
            made.put(path, text, modes.get(path, 0o644))
    return made


def _cores(
    nodes: Sequence[int], cpus_per_node: int, threads: int, numbering: str
) -> dict[int, tuple[tuple[int, ...], ...]]:
    each = cpus_per_node // threads
    total = each * len(nodes)
    made = {}
    for place, node in enumerate(nodes):
        firsts = [place * each + core if numbering == "blocks" else core * len(nodes) + place for core in range(each)]
        made[node] = tuple(tuple(first + thread * total for thread in range(threads)) for first in firsts)
    return made


def _distance(shape: Shape, node: int, other: int) -> int:
    if node == other:
        return 10
    if shape.cores.get(node) and shape.cores.get(other):
        return 12 if shape.packages[node] == shape.packages[other] else 21
    return 28


def _cpus(shape: Shape, isolated: str, nohz_full: str) -> dict[str, str]:
    base = "/sys/devices/system/cpu"
    tree = {
        f"{base}/online": f"{shape.online}\n",
        f"{base}/offline": f"{shape.offline}\n",
        f"{base}/present": f"{shape.all_cpus}\n",
        f"{base}/possible": f"0-{shape.width - 1}\n" if shape.width > 1 else "0\n",
        f"{base}/kernel_max": "8191\n",
        f"{base}/isolated": f"{isolated}\n",
        f"{base}/nohz_full": f"{nohz_full or '(null)'}\n",
    }
    for node, cores in shape.cores.items():
        package = CpuSet(
            cpu for other in shape.cores if shape.packages[other] == shape.packages[node] for cpu in shape.cpus(other)
        )
        for number, core in enumerate(cores):
            siblings = CpuSet(core) - shape.offline
            for cpu in core:
                tree[f"{base}/cpu{cpu}/node{node}"] = f"{LINK}../../node/node{node}"
                tree[f"{base}/cpu{cpu}/online"] = f"{int(cpu in siblings)}\n"
                if cpu not in siblings:
                    continue
                topology = f"{base}/cpu{cpu}/topology"
                tree[f"{topology}/core_id"] = f"{number}\n"
                tree[f"{topology}/physical_package_id"] = f"{shape.packages[node]}\n"
                tree[f"{topology}/thread_siblings_list"] = f"{siblings}\n"
                tree[f"{topology}/core_cpus_list"] = f"{siblings}\n"
                tree[f"{topology}/core_siblings_list"] = f"{package}\n"
                tree[f"{topology}/package_cpus_list"] = f"{package}\n"
                tree |= _caches(f"{base}/cpu{cpu}/cache", siblings, shape.cpus(node))
    return tree


def _caches(base: str, core: CpuSet, shared: CpuSet) -> dict[str, str]:
    tree = {}
    for index, (level, kind, size, cpus) in enumerate(
        [
            (1, "Data", "32K", core),
            (1, "Instruction", "32K", core),
            (2, "Unified", "1024K", core),
            (3, "Unified", "32768K", shared),
        ]
    ):
        tree[f"{base}/index{index}/level"] = f"{level}\n"
        tree[f"{base}/index{index}/type"] = f"{kind}\n"
        tree[f"{base}/index{index}/size"] = f"{size}\n"
        tree[f"{base}/index{index}/shared_cpu_list"] = f"{cpus}\n"
    return tree


def _node(shape: Shape, node: int, distances: Iterable[int]) -> dict[str, str]:
    base = f"/sys/devices/system/node/node{node}"
    total = shape.memory[node] // 1024
    tree = {
        f"{base}/cpulist": f"{shape.cpus(node)}\n",
        f"{base}/cpumap": f"{shape.cpus(node).mask(shape.width)}\n",
        f"{base}/distance": " ".join(map(str, distances)) + "\n",
        f"{base}/meminfo": f"Node {node} MemTotal:       {total} kB\nNode {node} MemFree:        {total // 2} kB\n",
        f"{base}/numastat": "numa_hit 0\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node 0\nother_node 0\n",
        f"{base}/compact": "",
    }
    if total:
        for size, pages in shape.hugepages.items():
            pool = f"{base}/hugepages/hugepages-{size}kB"
            tree |= {f"{pool}/nr_hugepages": f"{pages}\n", f"{pool}/free_hugepages": f"{pages}\n"}
            tree[f"{pool}/surplus_hugepages"] = "0\n"
    for core in shape.cores.get(node, ()):
        for cpu in core:
            tree[f"{base}/cpu{cpu}"] = f"{LINK}../../cpu/cpu{cpu}"
    return tree


def _node_lists(shape: Shape) -> dict[str, str]:
    base = "/sys/devices/system/node"
    memory_nodes = CpuSet(node for node in shape.nodes if shape.memory[node])
    return {
        f"{base}/online": f"{CpuSet(shape.nodes)}\n",
        f"{base}/possible": f"{CpuSet(range(max(shape.nodes) + 1))}\n",
        f"{base}/has_cpu": f"{CpuSet(node for node in shape.nodes if shape.cpus(node))}\n",
        f"{base}/has_memory": f"{memory_nodes}\n",
        f"{base}/has_normal_memory": f"{memory_nodes}\n",
    }


def _memory(shape: Shape, tiers: Mapping[int, str]) -> dict[str, str]:
    total = sum(shape.memory.values()) // 1024
    nodes = sum(1 for size in shape.memory.values() if size)
    tree = {
        "/proc/meminfo": f"MemTotal:       {total} kB\nMemFree:        {total // 2} kB\nHugepagesize:       2048 kB\n"
    }
    for size, pages in shape.hugepages.items():
        pool = f"/sys/kernel/mm/hugepages/hugepages-{size}kB"
        tree |= {f"{pool}/nr_hugepages": f"{pages * nodes}\n", f"{pool}/free_hugepages": f"{pages * nodes}\n"}
        tree |= {f"{pool}/resv_hugepages": "0\n", f"{pool}/surplus_hugepages": "0\n"}
        tree |= {f"{pool}/nr_overcommit_hugepages": "0\n", f"{pool}/nr_hugepages_mempolicy": f"{pages * nodes}\n"}
    for tier, members in tiers.items():
        tree[f"/sys/devices/virtual/memory_tiering/memory_tier{tier}/nodelist"] = f"{members}\n"
    tree["/sys/kernel/mm/numa/demotion_enabled"] = "false\n"
    return tree


def _identity(  # noqa: PLR0913  # that is what a host tells of itself
    shape: Shape, arch: str, virt: str, distribution: str, cmdline: str, *, systemd: bool
) -> dict[str, str]:
    name, _, version = distribution.partition(" ")
    vendor = "GenuineIntel" if arch == "x86_64" else ""
    flags = "fpu vme de pse msr lm constant_tsc" + (" hypervisor" if virt != "none" else "")
    product = {"none": "Server", "kvm": "KVM", "vmware": "VMware7,1", "amazon": "m7i.large"}.get(virt, virt)
    per_cpu = [
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n"
        if arch == "x86_64"
        else f"processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
        for cpu in shape.online
    ]
    tree = {
        "/proc/cpuinfo": "\n".join(per_cpu),
        "/proc/version": f"Linux version {shape.kernel} (builder@generated) (gcc) #1 SMP\n",
        "/proc/cmdline": f"{cmdline}\n",
        "/proc/1/comm": "systemd\n" if systemd else "init\n",
        "/proc/stat": "cpu  0 0 0 0\n" + "".join(f"cpu{cpu} 0 0 0 0\n" for cpu in shape.online),
        "/etc/os-release": f'ID={name}\nVERSION_ID="{version}"\n',
        "/sys/class/dmi/id/sys_vendor": "QEMU\n" if virt == "kvm" else "Generated\n",
        "/sys/class/dmi/id/product_name": f"{product}\n",
    }
    if systemd:
        tree["/run/systemd/system/"] = ""
    return tree | {"/dev/shm/": "", "/mnt/": ""}  # noqa: S108  # a mount point of the generated host
