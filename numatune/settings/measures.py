"""What is measured of a host's hardware: a closed union. The text of each begins with a number (a Tally)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Match = tuple[tuple[str, str], ...]
"""Which devices: (key, text) pairs as topology/match.py reads them, all of which must hold."""


@dataclass(frozen=True, slots=True)
class OnlineCpus:
    """CPUs that run."""


@dataclass(frozen=True, slots=True)
class Threads:
    """CPUs that run of a core, of the one with most: 1 where SMT is off, or not there."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """NUMA nodes, in the words of a profile's expressions: `cpu` are those with CPUs and memory."""

    which: Literal["all", "cpu", "cpu_only", "memory", "memory_only"]


@dataclass(frozen=True, slots=True)
class NodesPerPackage:
    """Nodes with CPUs in each package, the same in all: NPS of AMD, SNC of Intel. 0: one node spans packages (NPS0)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes, rounded down to 128 MiB: of the host; of the smallest node with CPUs. Or how uneven they are, in percent.

    imbalance  of nodes with CPUs, how much less the smallest has than the largest; one without memory has 100 % less
    """

    which: Literal["total", "smallest_node", "imbalance"]


@dataclass(frozen=True, slots=True)
class Devices:
    """PCI devices that match; `per_node`: those of the node with CPUs that has the fewest."""

    match: Match
    per_node: bool = False


@dataclass(frozen=True, slots=True)
class NodeKnown:
    """Whether the node of a device is known: 1 or 0."""

    device: str


@dataclass(frozen=True, slots=True)
class Beside:
    """Other devices that match and are at the device's node, or below the same PCIe switch."""

    device: str
    match: Match
    within: Literal["node", "switch"]


Measure = OnlineCpus | Threads | Nodes | NodesPerPackage | Memory | Devices | NodeKnown | Beside
