"""Nodes that differ in nothing but their number, as one: a Grace host has 34 that are empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from numatune.topology.model import Node

Run = list[Node]
"""Nodes of consecutive ids without CPUs; or one node."""


def same_nodes(nodes: Iterable[Node]) -> list[Run]:
    """Runs of nodes that have the same to show, distances and HMAT left aside."""
    return _runs(nodes, lambda run, node: _shown(run[0]) == _shown(node))


def same_distances(nodes: Sequence[Node]) -> list[Run]:
    """Runs of nodes that are equally far from every other node, both ways, and from each other."""

    def alike(run: Run, node: Node) -> bool:
        first, members = run[0], [*run, node]
        others = [other for other in nodes if other not in members]
        inside = {a.distances.get(b.id) for a in members for b in members if a is not b}
        return len(inside) == 1 and all(
            first.distances.get(other.id) == node.distances.get(other.id)
            and other.distances.get(first.id) == other.distances.get(node.id)
            for other in others
        )

    return _runs(nodes, alike)


def label(run: Run) -> str:
    """``2-17``, or the one id."""
    return f"{run[0].id}-{run[-1].id}" if len(run) > 1 else f"{run[0].id}"


def _shown(node: Node) -> object:
    return node.kind, node.memory_bytes, node.free_bytes, node.hugepages, node.tier


def _runs(nodes: Iterable[Node], alike: Callable[[Run, Node], bool]) -> list[Run]:
    runs: list[Run] = []
    for node in nodes:
        last = runs[-1] if runs else []
        if last and not last[-1].cpus and not node.cpus and node.id == last[-1].id + 1 and alike(last, node):
            last.append(node)
        else:
            runs.append([node])
    return runs
