"""Nodes by their numbers, as keys of a section."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from numatune.cpus import CpuSet
from numatune.topology.model import Topology


def _node(key: Any) -> Any:
    return int(key) if isinstance(key, str) and key.isdecimal() else key


NodeId = Annotated[int, BeforeValidator(_node), Field(ge=0)]


def not_here(node_id: int, topology: Topology) -> str:
    """That this host has no such node, and which it has, or ""."""
    there = CpuSet(node.id for node in topology.nodes)
    return "" if node_id in there else f"this host has no node {node_id}; it has {there}"


def without_memory(node_id: int, topology: Topology) -> str:
    """Why a node has no memory to manage, or ""."""
    node = topology.node(node_id)
    if node is None:
        return not_here(node_id, topology)
    return f"node {node_id} has no memory" if node.kind in ("cpu-only", "empty") else ""
