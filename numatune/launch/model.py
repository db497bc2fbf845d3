"""What goes into a placement and what comes out of it: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numatune.cpus import CpuSet
from numatune.launch.policy import MemoryMode
from numatune.launch.ranks import Rank
from numatune.launch.step import Step
from numatune.launch.visible import Accelerator, Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What placement must know of the process besides its host.

    seen          devices as it counts them
    accelerators  all that the driver gives it, for names
    kin           addresses of devices that the same driver has on the host, in sight or not
    cpus, mems    what sched_getaffinity and its cpuset let it have
    caller        names of variables that it has already, which are never overridden
    """

    rank: Rank
    cpus: CpuSet
    mems: CpuSet
    seen: tuple[Seen, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    kin: frozenset[str] = frozenset()
    caller: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory policy: `nodes` is empty for local and none."""

    mode: MemoryMode = "none"
    nodes: CpuSet = field(default_factory=CpuSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a rank belongs.

    rank     None for a process without one
    devices  PCI addresses of what it drives
    node     where its CPUs are; None when nobody knows, or when it is more than one
    cpus     all that it may run on; `bound` says whether that is to be set
    shm      nodes that new files of /dev/shm are to be spread over; empty: as they are
    nics     names of the nearest network adapters
    env      variables to set
    """

    rank: int | None
    devices: tuple[str, ...]
    node: int | None
    cpus: CpuSet
    bound: bool
    memory: Memory
    shm: CpuSet = field(default_factory=CpuSet)
    nics: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
