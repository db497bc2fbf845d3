"""The `devices:` section: the operator's word on which node a device is at, for firmware that says nothing or wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping

from numatune.errors import Problem
from numatune.profile.tree import Branch, Leaf, Node, problem

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")


def overrides(tree: Branch) -> tuple[Mapping[str, int], tuple[Problem, ...]]:
    """PCI address -> node id of what is well said, and what is wrong with the rest."""
    entry = tree.entries.get("devices")
    if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
        return {}, ()
    if not isinstance(entry.node, Branch):
        return {}, (problem(entry.source, ("devices",), "no mapping", 'a mapping like {"0000:41:00.0": 1}'),)
    found: dict[str, int] = {}
    problems: list[Problem] = []
    for written, device in entry.node.entries.items():
        path = ("devices", written)
        address = written.lower()
        node = _node_of(device.node)
        unknown = sorted(device.node.entries.keys() - {"node", "why"}) if isinstance(device.node, Branch) else []
        if not _ADDRESS.match(address):
            problems.append(problem(device.source, path, f"{written} is no PCI address", "one like 0000:41:00.0"))
        elif unknown:
            problems.append(problem(device.source, path, f"unknown key {unknown[0]}", "node, why"))
        elif isinstance(node, Leaf) and type(node.value) is int and node.value >= 0:
            found[address] = node.value
        elif not isinstance(node, Leaf) or node.value is not None:
            text = node.text if isinstance(node, Leaf) else "no number"
            problems.append(problem(device.source, path, text, "a node number, or {node: 1, why: ...}"))
    return found, tuple(problems)


def _node_of(node: Node) -> Node | None:
    if not isinstance(node, Branch):
        return node
    entry = node.entries.get("node")
    return entry.node if entry else None
