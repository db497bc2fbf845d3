"""What every export of a launch is made from: pure data, worked out for one host."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch.model import Placement
from numatune.launch.policy import Policy

INTERLEAVES = frozenset({"interleave", "weighted-interleave"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A server of this host.

    whole       where it belongs as one process; for `--rank N` that rank's own place
    ranks       where each of its ranks does
    memory      nodes with CPUs and memory: never GPU memory or CXL
    uuids       of devices, by address, as far as they are known
    indexes     of devices in PCI order among those of their vendor
    render      /dev/dri names of devices, by address
    nodes       how many nodes the host has, those without CPUs too
    reserved    CPUs that are left to the system
    same_hosts  all hosts of the job are like this one: maps of CPUs hold for them
    """

    whole: Placement
    ranks: tuple[Placement, ...]
    policy: Policy
    memory: CpuSet
    uuids: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, int] = field(default_factory=dict)
    render: Mapping[str, str] = field(default_factory=dict)
    vendor: str = ""
    nodes: int = 1
    reserved: CpuSet = field(default_factory=CpuSet)
    same_hosts: bool = False

    @property
    def mems(self) -> CpuSet:
        """Nodes to confine memory to. That is as hard as bind, so that anything milder gets all it may spill to."""
        bound = self.whole.memory.mode == "bind" and self.whole.memory.nodes
        return bound or self.memory

    @property
    def device_names(self) -> list[str]:
        """UUIDs of its devices, where one is not known indexes instead."""
        known = [self.uuids.get(address, "") for address in self.whole.devices]
        return known if all(known) else [str(self.indexes.get(address, 0)) for address in self.whole.devices]

    @property
    def mpol(self) -> str:
        """The mount option of a tmpfs for its shared memory, "" without an interleave. Raises LaunchError."""
        of_memory = self.whole.memory.nodes if self.whole.memory.mode in INTERLEAVES else CpuSet()
        nodes = self.whole.shm or of_memory
        return f"mpol=interleave:{in_one_word(nodes)}" if nodes else ""


def in_one_word(nodes: CpuSet) -> str:
    """A list of nodes without a comma, at which options of mounts are split: ``0-9:2/8`` is 0-1,8-9.

    The kernel reads it so (lib/bitmap-str.c). Raises LaunchError for a set that has no such spelling.
    """
    runs = [CpuSet.parse(run) for run in str(nodes).split(",")]
    lengths, starts = {len(run) for run in runs}, [run.first for run in runs]
    steps = {after - before for before, after in itertools.pairwise(starts)}
    if not steps:
        return str(nodes)
    if len(lengths) > 1 or len(steps) > 1:
        found = f"{nodes} is no list that a mount option can hold: it has commas"
        raise LaunchError("shm", found, accepted="nodes side by side, or at one distance", hint="name others")
    return f"{nodes.first}-{nodes.last}:{lengths.pop()}/{steps.pop()}"
