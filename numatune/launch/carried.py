"""The placement that travels with a process, in one variable: workers inherit it, across containers too."""

from __future__ import annotations

from numatune.launch.model import Memory, Placement

VARIABLE = "NUMATUNE_PLACEMENT"

_FORMAT = "1"


def travelling(placement: Placement, held: Memory) -> str:
    """The placement in words, as `ps` reads it: ``1 rank=0 node=1 cpus=0-15 memory=preferred:0 devices=...``."""
    told = {
        "rank": "" if placement.rank is None else str(placement.rank),
        "node": "" if placement.node is None else str(placement.node),
        "cpus": str(placement.cpus),
        "memory": f"{held.mode}:{held.nodes}",
        "devices": ",".join(placement.devices),
    }
    return " ".join((_FORMAT, *(f"{name}={text}" for name, text in told.items() if text)))
