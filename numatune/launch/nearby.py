"""What is near what on a host: nodes with CPUs, nodes with memory, network adapters. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.topology.model import Device, Node, Topology

_NO_DISTANCE = 255
"""SLIT's word for unreachable; also for pairs that firmware tells nothing of."""

_RDMA_NAMES = 2


def nearest(topology: Topology, start: int, among: Iterable[Node]) -> Node | None:
    """The node of `among` with the least distance from `start`, itself first; of equals the lowest id."""
    origin = topology.node(start)
    distances = origin.distances if origin else {}

    def far(node: Node) -> tuple[bool, int, int]:
        return node.id != start, distances.get(node.id, _NO_DISTANCE), node.id

    return min(among, key=far, default=None)


def with_cpus(topology: Topology) -> list[Node]:
    """Nodes that have CPUs which run, by id."""
    return [node for node in topology.nodes if node.cpus]


def with_both(topology: Topology) -> list[Node]:
    """Nodes with CPUs and memory: the only ones whose memory is taken unasked. GPU memory and CXL have no CPUs."""
    return [node for node in topology.nodes if node.kind == "cpu+mem"]


def adapters(topology: Topology, device: Device) -> list[Device]:
    """The network adapters nearest to a device: below the same PCIe switch, else root port, else at its node."""
    found = [one for one in topology.devices if one.kind in {"nic", "infiniband"} and one.names]
    for bridge in device.parents:
        if below := [one for one in found if bridge in one.parents]:
            return below
    return [one for one in found if one.resolved_node is not None and one.resolved_node == device.resolved_node]


def adapter_name(device: Device) -> str:
    """What RDMA calls it (mlx5_0), which follows the interface in its names; else the interface (eth0)."""
    return device.names[-1]


def is_rdma(device: Device) -> bool:
    """Whether NCCL and UCX can use it by that name."""
    return device.kind == "infiniband" or len(device.names) >= _RDMA_NAMES
