"""What a host is made of, as frozen data in sections. Whoever discovers fills only the sections that are asked for.

Node ids are sparse and "node" is never "socket". What a tree does not tell is None (or an empty set), never 0.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from numatune.cpus import CpuSet
from numatune.topology.links import Link
from numatune.topology.mounts import Mount
from numatune.topology.power import Power
from numatune.topology.queues import Queues

NodeKind = Literal["cpu+mem", "cpu-only", "memory-only", "empty"]
DeviceKind = Literal["accelerator", "nic", "nvme", "infiniband", "other"]
ResolvedBy = Literal["override", "numa_node", "parent", "local_cpus", "nvml", "unknown"]
CgroupMode = Literal["v1", "v2", "hybrid", "none"]


class Section(enum.StrEnum):
    """What a knob can ask to be discovered. MACHINE and CPUS always are."""

    MACHINE = "machine"
    CPUS = "cpus"
    NODES = "nodes"
    DEVICES = "devices"
    INTERRUPTS = "interrupts"
    CGROUPS = "cgroups"
    THP = "thp"
    SERVICES = "services"
    POWER = "power"
    QUEUES = "queues"
    MOUNTS = "mounts"
    LINKS = "links"
    AFFINITIES = "affinities"  # where interrupts run, for people: a knob says where they shall


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Kernel release, architecture (x86_64), virtualisation ("" when unknown, "none" on metal), "debian 13"."""

    kernel: str = ""
    arch: str = ""
    virt: str = ""
    distribution: str = ""
    page_size: int = 4096
    boot_id: str = ""
    cmdline: str = ""
    systemd: bool = False  # is process 1
    possible_cpus: int = 0  # width of the kernel's CPU masks (nr_cpu_ids)
    memory_bytes: int | None = None  # MemTotal of /proc/meminfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """One core: its SMT siblings that are online, and the package it is in."""

    cpus: CpuSet
    package: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpus:
    """Online, offline (present but not online) and boot-isolated CPUs; cores and L3 groups, by lowest CPU.

    smt_control  what smt/control says: on, off, forceoff, notsupported, notimplemented, or threads of a core where not
                 all of them run; "" where nothing tells (before Linux 4.19)
    """

    online: CpuSet = field(default_factory=CpuSet)
    offline: CpuSet = field(default_factory=CpuSet)
    isolated: CpuSet = field(default_factory=CpuSet)
    nohz_full: CpuSet = field(default_factory=CpuSet)
    cores: tuple[Core, ...] = ()
    packages: Mapping[int, CpuSet] = field(default_factory=dict)
    l3: tuple[CpuSet, ...] = ()
    smt_control: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Hugepages of one size on one node, in pages."""

    total: int
    free: int | None = None
    surplus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """HMAT: how the best initiators of a class (0 any, 1 CPUs) reach this node. Latency ns, bandwidth MiB/s."""

    access_class: int
    initiators: CpuSet
    read_latency: int | None = None
    write_latency: int | None = None
    read_bandwidth: int | None = None
    write_bandwidth: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A NUMA node. `cpus`: its online CPUs. `distances`: node id -> SLIT (10 is itself). `hugepages`: by kB."""

    id: int
    cpus: CpuSet
    kind: NodeKind
    memory_bytes: int | None = None
    free_bytes: int | None = None
    distances: Mapping[int, int] = field(default_factory=dict)
    hugepages: Mapping[int, Pool] = field(default_factory=dict)
    access: tuple[Access, ...] = ()
    tier: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A PCI device.

    class_    four hex digits of its class and subclass ("0302"); vendor, device: four hex digits
    names     what other parts of the system call it: eth0, mlx5_0, nvme0, card0
    node      what the kernel says; None for -1 or no file, never 0
    resolved_node, resolved_by   what the resolver concludes: the first that answers
    parents   addresses of the bridges above, nearest first
    """

    address: str
    class_: str
    kind: DeviceKind
    vendor: str = ""
    device: str = ""
    driver: str = ""
    names: tuple[str, ...] = ()
    node: int | None = None
    resolved_node: int | None = None
    resolved_by: ResolvedBy = "unknown"
    local_cpus: CpuSet | None = None
    parents: tuple[str, ...] = ()

    def files(self, name: str) -> tuple[str, str]:
        """Where the file `name` of the device is: on the bus, and below the bridges, where a tree has no bus."""
        way = (*reversed(self.parents), self.address)
        root = way[0].rpartition(":")[0]
        return f"/sys/bus/pci/devices/{self.address}/{name}", f"/sys/devices/pci{root}/{'/'.join(way)}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """A message-signalled interrupt of a device. Identity: (device, index); the number changes on rebind.

    `movable` None: only trying would tell (kernels before 6.12 keep the mode bits of managed ones at 0644).
    """

    number: int
    device: str
    index: int
    name: str = ""
    chip: str = ""
    movable: bool | None = None
    requested: CpuSet | None = None
    effective: CpuSet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroups:
    """Which hierarchy has cpuset, and who owns it.

    mode         "v2": all controllers on one tree; "hybrid": v1 controllers beside a v2 tree
    cpuset_root  mount point of the hierarchy that has cpuset, "" when none has
    memory_root  the same for memory
    version      of that cpuset hierarchy: 1 or 2, None when there is none
    memory_version   the same for memory
    """

    mode: CgroupMode = "none"
    version: Literal[1, 2] | None = None
    cpuset_root: str = ""
    memory_root: str = ""
    memory_version: Literal[1, 2] | None = None
    controllers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thp:
    """Transparent hugepage sizes that the kernel offers, in kB; `present` False without CONFIG_TRANSPARENT_HUGEPAGE."""

    present: bool = False
    sizes: tuple[int, ...] = ()
    files: tuple[str, ...] = ()  # names below transparent_hugepage/, so that a knob need not guess by version


@dataclass(frozen=True, slots=True, kw_only=True)
class Irqbalance:
    """What starts irqbalance and what its administrator told it, our own drop-in left out.

    unit       path of its unit file, "" where systemd knows none
    variable   the environment variable whose words its command line ends with: IRQBALANCE_ARGS, OPTIONS; "" for none
    arguments  of that variable, verbatim, as the unit's environment files set it
    policy     the --policyscript among them, a file or a folder, "" for none
    banned     CPUs that it is told to leave alone already; None: not told, it then spares isolated and nohz_full CPUs
    """

    unit: str = ""
    variable: str = ""
    arguments: str = ""
    policy: str = ""
    banned: CpuSet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A host. `sections`: which of the parts were looked at; the others are empty."""

    sections: frozenset[Section]
    machine: Machine = field(default_factory=Machine)
    cpus: Cpus = field(default_factory=Cpus)
    nodes: tuple[Node, ...] = ()
    devices: tuple[Device, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    cgroups: Cgroups = field(default_factory=Cgroups)
    thp: Thp = field(default_factory=Thp)
    irqbalance: Irqbalance = field(default_factory=Irqbalance)
    queues: tuple[Queues, ...] = ()
    mounts: tuple[Mount, ...] = ()
    links: Mapping[str, Link] = field(default_factory=dict)  # by address of the device
    power: Power = field(default_factory=Power)
    hugepage_sizes: tuple[int, ...] = ()  # kB, offered by this kernel
    fingerprint: str = ""
    numa: bool = True  # False: the kernel has no node directory; `nodes` then holds no node that it did not name

    def node(self, node_id: int) -> Node | None:
        """The node of that id, which is no position."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def interrupts_of(self, device: str) -> tuple[Interrupt, ...]:
        """The interrupts of a device, by MSI index."""
        found = (irq for irq in self.interrupts if irq.device == device)
        return tuple(sorted(found, key=lambda irq: irq.index))
