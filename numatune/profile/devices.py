"""The `devices:` section: the operator's word on which node a device is at, for firmware that says nothing or wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping

from numatune.errors import Problem, ProfileError
from numatune.profile.tree import Branch, Leaf, Node, problem

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_ACCEPTED = "a node number, or {node: 1, why: ...}"


def overrides(tree: Branch) -> Mapping[str, int]:
    """PCI address -> node id. Raises ProfileError."""
    entry = tree.entries.get("devices")
    if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
        return {}
    if not isinstance(entry.node, Branch):
        raise ProfileError((problem(entry.source, ("devices",), "no mapping", 'a mapping like {"0000:41:00.0": 1}'),))
    found: dict[str, int] = {}
    problems: list[Problem] = []
    for written, device in entry.node.entries.items():
        path = ("devices", written)
        address = written.lower()
        if not _ADDRESS.match(address):
            problems.append(problem(device.source, path, f"{written} is no PCI address", "one like 0000:41:00.0"))
            continue
        node = _node_of(device.node)
        if isinstance(node, Leaf) and node.value is None:
            continue
        unknown = sorted(device.node.entries.keys() - {"node", "why"}) if isinstance(device.node, Branch) else []
        if unknown:
            problems.append(problem(device.source, path, f"unknown key {unknown[0]}", "node, why"))
        elif not isinstance(node, Leaf) or type(node.value) is not int or node.value < 0:
            text = node.text if isinstance(node, Leaf) else "no number"
            problems.append(problem(device.source, path, text or "no number", _ACCEPTED))
        else:
            found[address] = node.value
    if problems:
        raise ProfileError(tuple(problems))
    return found


def _node_of(node: Node) -> Node | None:
    if not isinstance(node, Branch):
        return node
    entry = node.entries.get("node")
    return entry.node if entry else None
