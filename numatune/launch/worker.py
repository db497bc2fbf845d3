"""A process that runs, the devices that it has open, and where it belongs: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numatune.cpus import CpuSet
from numatune.launch.proof import Proof
from numatune.launch.step import Step
from numatune.launch.visible import Accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A process and the accelerators that it has open, in the order of the host.

    parent   the process that started it
    started  clock ticks after boot: with the number who it is, because numbers are given again
    cpus     what its cpuset lets it have; None where nothing tells
    mems     nodes that it may take memory from; None likewise
    """

    pid: int
    parent: int
    started: str
    opened: tuple[Accelerator, ...] = ()
    cpus: CpuSet | None = None
    mems: CpuSet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebind:
    """A process, and where it belongs.

    devices  PCI addresses of what it has open
    node     where its devices are; None when nobody knows, or when it is more than one
    cpus     where its threads belong; empty: they stay as they are, and `left` says why
    nodes    where its memory belongs; empty when nobody knows
    bound    threads that were bound; None before. Those that have ended are neither here nor in `refused`
    refused  threads that are not where they belong, with why
    """

    proof: Proof
    started: str = ""
    devices: tuple[str, ...] = ()
    node: int | None = None
    cpus: CpuSet = field(default_factory=CpuSet)
    nodes: CpuSet = field(default_factory=CpuSet)
    left: str = ""
    steps: tuple[Step, ...] = ()
    bound: tuple[int, ...] | None = None
    refused: Mapping[int, str] = field(default_factory=dict)

    @property
    def outside(self) -> tuple[int, ...]:
        """Threads that may run elsewhere. One inside is as wanted: engines narrow their own workers."""
        return tuple(one.id for one in self.proof.threads if self.cpus and not one.cpus <= self.cpus)

    @property
    def elsewhere(self) -> Mapping[int, int]:
        """KiB of its own memory by node, of nodes that are not its own."""
        return {node: kib for node, kib in self.proof.kib.items() if self.nodes and kib and node not in self.nodes}
