"""The placement that travels with a process, in one variable: workers inherit it, across containers too."""

from __future__ import annotations

from dataclasses import dataclass, field

from numatune.cpus import CpuSet
from numatune.launch.model import Memory, Placement
from numatune.launch.policy import MEMORY_MODES

VARIABLE = "NUMATUNE_PLACEMENT"

_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Carried:
    """What was wanted of a process when it was started."""

    rank: int | None = None
    node: int | None = None
    cpus: CpuSet = field(default_factory=CpuSet)
    memory: Memory = field(default_factory=Memory)
    devices: tuple[str, ...] = ()


def travelling(placement: Placement, held: Memory) -> str:
    """In words: ``1 rank=0 node=1 cpus=0-15 memory=preferred:0 devices=0000:41:00.0``."""
    told = {
        "rank": "" if placement.rank is None else str(placement.rank),
        "node": "" if placement.node is None else str(placement.node),
        "cpus": str(placement.cpus) if placement.bound else "",
        "memory": f"{held.mode}:{held.nodes}",
        "devices": ",".join(placement.devices),
    }
    return " ".join((_FORMAT, *(f"{name}={text}" for name, text in told.items() if text)))


def read(text: str) -> Carried:
    """What the words say. Raises ValueError for those of a newer numatune, and for what is none."""
    format_, *words = text.split()
    if format_ != _FORMAT:
        raise ValueError(f"a placement of format {format_}; accepted: {_FORMAT}")
    told = dict(word.partition("=")[::2] for word in words)
    mode, _, nodes = told.get("memory", "none").partition(":")
    modes = {one: one for one in MEMORY_MODES}
    if mode not in modes:
        raise ValueError(f"a memory policy {mode!r}; accepted: {', '.join(modes)}")
    return Carried(
        rank=int(told["rank"]) if "rank" in told else None,
        node=int(told["node"]) if "node" in told else None,
        cpus=CpuSet.parse(told.get("cpus", "")),
        memory=Memory(modes[mode], CpuSet.parse(nodes)),
        devices=tuple(filter(None, told.get("devices", "").split(","))),
    )
