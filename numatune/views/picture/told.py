"""A host in sentences, for readers that see no picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from numatune.topology.model import Node, Topology
from numatune.views.folding import label, same_nodes
from numatune.views.pci import KINDS
from numatune.views.picture.devices import KINDS as NAMES
from numatune.views.sizes import memory
from numatune.views.style import plural
from numatune.views.summary import system


def description(found: Topology) -> str:
    """Node by node: CPUs, memory, devices by kind."""
    return "\n".join(f"{sentence}." for sentence in _sentences(found))


def _sentences(found: Topology) -> Iterator[str]:
    if system(found):
        yield ", ".join(system(found))
    for run in same_nodes(found.nodes):
        yield ", ".join(_node(run, found))
    unknown = _devices(found, None)
    if unknown:
        yield f"On no known node: {', '.join(unknown)}"


def _node(run: list[Node], found: Topology) -> Iterator[str]:
    first = run[0]
    yield f"Node {label(run)} ({first.kind})" if len(run) == 1 else f"Nodes {label(run)} ({first.kind})"
    if first.cpus:
        yield f"CPUs {first.cpus}"
    if first.memory_bytes:
        yield f"{memory(first.memory_bytes)} of memory" + ("" if len(run) == 1 else " each")
    for node in run:
        yield from _devices(found, node.id)


def _devices(found: Topology, node: int | None) -> list[str]:
    counted = Counter(device.kind for device in found.devices if device.resolved_node == node)
    return [plural(counted[kind], f"{NAMES[kind]} device") for kind in KINDS if kind != "other" and counted[kind]]
