"""Files that hold a mask of CPUs as wide as the kernel's."""

from __future__ import annotations

from numatune.cpus import CpuSet
from numatune.topology.model import Topology


def width(topology: Topology) -> int:
    """How many CPUs this kernel can have: a mask with more is refused (EOVERFLOW)."""
    return max(topology.machine.possible_cpus, (topology.cpus.online | topology.cpus.offline).last + 1)


def not_here(asked: CpuSet, topology: Topology) -> str:
    """Why a set cannot be used on this host, or "": it names CPUs that are not here, or none that is online."""
    cpus = topology.cpus
    if missing := asked - cpus.online - cpus.offline:
        return f"CPUs {missing} are not on this host; online are {cpus.online}"
    if not asked & cpus.online:
        return f"none of the CPUs {asked} is online; online are {cpus.online}" if asked else "it names no CPU"
    return ""
