"""A large generated host: 8 nodes, 1,024 CPUs, 64 accelerators, and as many interrupts as are asked for."""

from __future__ import annotations

from typing import Any

from fakes.trees import Tree, host_tree

NODES = 8
CPUS_PER_NODE = 128
ACCELERATORS = 64
NICS = 16
NVMES = 32
LARGEST = 4096


def large_host(interrupts: int = LARGEST, **changed: Any) -> Tree:
    """That host with `interrupts` in all: one each accelerator, the rest shared by NICs and, a quarter, NVMe disks.

    `changed`: other arguments of fakes.trees.host_tree.
    """
    rest = interrupts - ACCELERATORS
    disks = rest // 4
    shape: dict[str, Any] = {
        "nodes": NODES,
        "cpus_per_node": CPUS_PER_NODE,
        "threads": 2,
        "nodes_per_package": NODES // 2,
        "memory_per_node": 256 << 30,
        "accelerators": ACCELERATORS,
        "nics": [{"vectors": vectors, "rx": 16, "tx": 16} for vectors in _shared(rest - disks, NICS)],
        "nvmes": [{"vectors": vectors} for vectors in _shared(disks, NVMES)],
        "remapping": True,
    }
    return host_tree(**{**shape, **changed})


def _shared(whole: int, among: int) -> list[int]:
    """`whole` in `among` parts that differ by one at most."""
    return [whole // among + (number < whole % among) for number in range(among)]
