"""Files that hold a mask of CPUs as wide as the kernel's."""

from __future__ import annotations

from numatune.cpus import CpuSet
from numatune.errors import Problem
from numatune.settings.model import Source
from numatune.topology.model import Topology


def width(topology: Topology) -> int:
    """How many CPUs this kernel can have: a mask with more is refused (EOVERFLOW). 1 where nothing tells."""
    there = topology.cpus.online | topology.cpus.offline
    return max(topology.machine.possible_cpus, there.last + 1 if there else 1)


def beyond(asked: CpuSet, topology: Topology) -> str:
    """That a set names CPUs which this host has not, and which it has; "" where it has all."""
    missing = asked - topology.cpus.online - topology.cpus.offline
    return f"CPUs {missing} are not on this host; online are {topology.cpus.online}" if missing else ""


def unusable(asked: CpuSet, topology: Topology) -> str:
    """Why a set cannot be used on this host, or "": it names CPUs that are not here, or none that is online."""
    online = topology.cpus.online
    if asked & online:
        return beyond(asked, topology)
    none = f"none of the CPUs {asked} is online; online are {online}" if asked else "it names no CPU"
    return beyond(asked, topology) or none


def lacking(found: str, source: Source | None) -> str:
    """What a host lacks, told like a mistake of the profile: with the line that asks for it; "" for nothing."""
    return str(Problem(str(source or ""), found)) if found else ""
