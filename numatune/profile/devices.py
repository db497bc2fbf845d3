"""The `devices:` section: the operator's word on which node a device is at, for firmware that says nothing or wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from numatune.cpus import CpuSet
from numatune.errors import Problem
from numatune.profile.tree import Branch, Entry, Leaf, Node, Path, problem

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")


def overrides(tree: Branch) -> tuple[Mapping[str, int], tuple[Problem, ...]]:
    """PCI address -> node id of what is well said, and what is wrong with the rest."""
    entry = tree.entries.get("devices")
    if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
        return {}, ()
    if not isinstance(entry.node, Branch):
        return {}, (problem(entry.source, ("devices",), "no mapping", 'a mapping like {"0000:41:00.0": 1}'),)
    found: dict[str, int] = {}
    problems = list(_conditions(entry.node, ("devices",)))
    for address, device in entry.node.entries.items():
        try:
            node = _node_of(address, device)
        except ValueError as error:
            told = Problem.told(error)
            problems.append(problem(device.source, ("devices", address), told.found, told.accepted, told.hint))
            continue
        problems += _conditions(device.node, ("devices", address))
        if node is not None:
            found[address] = node
    return found, tuple(problems)


def wrong_node(tree: Branch, address: str, node: int, nodes: CpuSet) -> Problem:
    """A node is given for a device of this host that the host does not have."""
    entry = tree.entries["devices"].node
    source = entry.entries[address].source if isinstance(entry, Branch) else entry.source
    return problem(source, ("devices", address), f"node {node}", f"a node of this host: {nodes}")


def _node_of(address: str, device: Entry) -> int | None:
    """The node that is given for a device, None for null. Raises ValueError: ``found; accepted: ...; hint: ...``."""
    if not _ADDRESS.match(address):
        raise ValueError(f"{address} is no PCI address; accepted: one like 0000:41:00.0")
    accepted = "a node number, or {node: 1, why: ...}"
    node = device.node
    if isinstance(node, Branch):
        if unknown := sorted(node.entries.keys() - {"node", "why"}):
            raise ValueError(f"unknown key {unknown[0]}; accepted: node, why")
        if "node" not in node.entries:
            raise ValueError(f"no node; accepted: {accepted}")
        node = node.entries["node"].node
    if isinstance(node, Leaf) and node.value is None:
        return None
    value = node.value if isinstance(node, Leaf) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and int(value) == value:
        return int(value)
    if isinstance(value, str) and "{{" in value:
        raise ValueError(f"an expression; accepted: {accepted}; hint: expressions look at the host, this is part of it")
    found = repr(value) if isinstance(value, str) else node.text if isinstance(node, Leaf) else "no number"
    raise ValueError(f"{found}; accepted: {accepted}")


def _conditions(node: Node, path: Path) -> Iterator[Problem]:
    """Conditions look at the host, of which this is a part."""
    for when in node.whens if isinstance(node, Branch) else ():
        yield problem(when.source, (*path, "when"), "a condition", "none: this counts on every host")
