"""What a launch wants: the section `launch:` of a profile, and the same by flags, as one frozen value.

cpu     node      the CPUs of the device's node
        exclusive the device's share of them: ranks never overlap, SMT siblings stay together
        l3        one group of CPUs that share a last-level cache
        socket    the whole package
        list      the CPUs that are written out, for all (`cpus`) or by rank (`ranks`)
        none      as they are
memory  preferred (MPOL_PREFERRED) takes the node first and others when it is full; bind stays inside and, beyond what
        is free there, reclaims and then kills; local is the node of the CPU that touches a page first
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from numatune.cpus import CpuSet

CpuMode = Literal["node", "exclusive", "l3", "socket", "list", "none"]
Smt = Literal["keep", "drop"]
MemoryMode = Literal["preferred", "preferred-many", "bind", "local", "interleave", "weighted-interleave", "none"]
Fallback = Literal[MemoryMode, "cpu-only"]
OnUnknown = Literal["warn", "fail"]
Thp = Literal["keep", "madvise", "never"]

CPU_MODES: tuple[CpuMode, ...] = get_args(CpuMode)
SMT: tuple[Smt, ...] = get_args(Smt)
MEMORY_MODES: tuple[MemoryMode, ...] = get_args(MemoryMode)
FALLBACKS: tuple[Fallback, ...] = (*MEMORY_MODES, "cpu-only")
ON_UNKNOWN: tuple[OnUnknown, ...] = get_args(OnUnknown)
THP: tuple[Thp, ...] = get_args(Thp)

COUNTED = ("cores", "cpus")
"""Words that an environment value may be instead of a text: how many of them the rank was given."""

KEEP, INTERLEAVE = "keep", "interleave"
"""What may be asked of shared memory; ``interleave:0-1`` names the nodes."""

NICS = "nics"
"""The one key of `env` that is no variable: true sets what NCCL and UCX read from the nearest adapters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPolicy:
    """What is written out for one rank; None: as for the others.

    device   address, UUID or index of the device that the rank drives
    node     the node that it runs at; its memory goes there too, unless `memory` says otherwise
    cpus     exactly these CPUs
    memory   the nodes that its memory goes to
    """

    device: str | None = None
    node: int | None = None
    cpus: CpuSet | None = None
    memory: CpuSet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How ranks are placed.

    cpus           with `cpu: list`, for every rank that has none of its own
    reserve_cores  first cores of each node that are left to the system and to interrupts; only where the whole host is
                   allowed, because a smaller set was cut by somebody who has reserved already
    memory_nodes   targets by name; None: the node of the rank, or for the interleaves every node with CPUs and memory.
                   Memory-only nodes are targets only when they are named
    fallback       what is tried, in this order, when the kernel refuses the memory policy; cpu-only keeps the CPUs and
                   gives the memory policy up, none gives up both
    strict         anything but what is asked for is an error, and the command does not start
    on_unknown     what to do with a device whose node nobody knows, or a rank without a device
    widen          start from the CPUs of the cpuset, not from the affinity that was inherited
    env            variables to set where the caller has not: text, or `cores`, `cpus` for a count; `nics: true`
    cgroup         a group below the cgroup2 mount to join first
    thp            transparent hugepages of the process: as they are, only where madvised (Linux 6.18), never
    shm            new files of /dev/shm, in a container: keep, or interleave with or without nodes by name
    ranks          what is written out for single ranks
    others         the same for all other ranks, and for a process that has none
    devices        the operator's word on which node a device is at, by address
    """

    cpu: CpuMode = "node"
    cpus: CpuSet | None = None
    smt: Smt = "keep"
    reserve_cores: int = 0
    memory: MemoryMode = "preferred"
    memory_nodes: CpuSet | None = None
    fallback: tuple[Fallback, ...] = ("preferred", "cpu-only", "none")
    strict: bool = False
    on_unknown: OnUnknown = "warn"
    widen: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    nics: bool = False
    cgroup: str = ""
    thp: Thp = "keep"
    shm: str = KEEP
    ranks: Mapping[int, RankPolicy] = field(default_factory=dict)
    others: RankPolicy = field(default_factory=RankPolicy)
    devices: Mapping[str, int] = field(default_factory=dict)

    @property
    def shm_nodes(self) -> CpuSet | None:
        """Nodes that are named for shared memory; an empty set: the usual ones; None: it stays as it is."""
        word, _, nodes = self.shm.partition(":")
        return CpuSet.parse(nodes) if word == INTERLEAVE else None

    def rank(self, rank: int | None) -> RankPolicy:
        """What is written out for a rank, or for a process that has none."""
        return self.ranks.get(rank, self.others) if rank is not None else self.others
