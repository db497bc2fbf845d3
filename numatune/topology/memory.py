"""How much memory a host has, for shares and guards. What a tree does not tell is None."""

from __future__ import annotations

from numatune.topology.model import Topology


def total_memory(topology: Topology) -> int | None:
    """Bytes of memory of the whole host, None when nothing tells."""
    if topology.machine.memory_bytes is not None:
        return topology.machine.memory_bytes
    known = [node.memory_bytes for node in topology.nodes if node.memory_bytes is not None]
    return sum(known) if known else None


def smallest_node(topology: Topology) -> tuple[int | None, int] | None:
    """(id, bytes) of the smallest node that has CPUs and memory; None when one of them does not tell.

    A host without nodes counts as one whole: id None.
    """
    sizes = [(node.memory_bytes, node.id) for node in topology.nodes if node.kind == "cpu+mem"]
    known = [(size, node_id) for size, node_id in sizes if size is not None]
    if known and len(known) == len(sizes):
        size, node_id = min(known)
        return node_id, size
    total = None if sizes else total_memory(topology)
    return None if total is None else (None, total)
