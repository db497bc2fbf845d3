"""The shapes of machines: nodes, processors, devices, and the QEMU arguments that make them (QEMU 7.2 and newer).

Every device names its bus: an unnamed one can land on a bridge that refuses it. As few processors as a case needs: each
beyond the real ones costs boot time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LOCAL = 10  # ACPI's distance of a node to itself


@dataclass(frozen=True, slots=True)
class Node:
    """A memory node: its CPUs as a QEMU range ("0-1"), its memory in MiB."""

    cpus: str
    mebibytes: int


@dataclass(frozen=True, slots=True)
class Device:
    """A device in a slot of its own below a host bridge of that node; `later`: plugged in once the machine runs."""

    model: str
    node: int
    later: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A machine. Its way in (a virtio NIC) and its disk are on the root bus, whose devices have node -1."""

    name: str
    smp: str
    nodes: tuple[Node, ...]
    distances: tuple[tuple[int, ...], ...]
    devices: tuple[Device, ...] = ()

    def arguments(self) -> list[str]:
        """What QEMU is told of processors, memory, and the devices that are there from the start."""
        return [
            *self._memory(),
            *self._bridges(),
            *(word for device in self.devices for word in self._at_start(device)),
        ]

    def plugs(self) -> Iterator[dict[str, str]]:
        """The arguments of `device_add` for the devices that come later."""
        for device in self.devices:
            if device.later:
                yield {"driver": device.model, **self._place(device), **BACKENDS.get(device.model, {})}

    def _memory(self) -> Iterator[str]:
        yield from ("-smp", self.smp, "-m", f"{sum(node.mebibytes for node in self.nodes)}M")
        for number, node in enumerate(self.nodes):
            yield from ("-object", f"memory-backend-ram,id=mem{number},size={node.mebibytes}M")
            yield from ("-numa", f"node,nodeid={number},cpus={node.cpus},memdev=mem{number}")
        for source, row in enumerate(self.distances):
            for target, distance in enumerate(row):
                if source != target:
                    yield from ("-numa", f"dist,src={source},dst={target},val={distance}")

    def _bridges(self) -> Iterator[str]:
        for node in sorted({device.node for device in self.devices}):
            bus = f"bus_nr={0x20 + 0x20 * node:#x},bus=pcie.0"
            yield from ("-device", f"pxb-pcie,id=host{node},{bus},numa_node={node}")
        for number, device in enumerate(self.devices):
            slot = f"bus=host{device.node},chassis={number + 1},addr={number + 1:#x}"
            yield from ("-device", f"pcie-root-port,id=port{number},{slot}")

    def _at_start(self, device: Device) -> Iterator[str]:
        backend = BACKENDS.get(device.model, {})
        if "netdev" in backend:
            yield from ("-netdev", f"user,id={backend['netdev']}")
        if not device.later:
            words = {**self._place(device), **backend}
            yield from ("-device", ",".join((device.model, *(f"{key}={value}" for key, value in words.items()))))

    def _place(self, device: Device) -> dict[str, str]:
        number = self.devices.index(device)
        return {"id": f"dev{number}", "bus": f"port{number}"}


# What a device of a model stands on, where it needs something. The drive `nvme` is every machine's.
BACKENDS = {
    "vmxnet3": {"netdev": "wire"},
    "nvme": {"drive": "nvme", "serial": "lab"},
}

NPS2 = Shape(
    name="nps2",  # two sockets, each split into two nodes, as BIOS setting NPS2 does on EPYC
    smp="4,sockets=2,dies=2,cores=1,threads=1",
    nodes=tuple(Node(str(cpu), 512) for cpu in range(4)),
    distances=((LOCAL, 12, 32, 32), (12, LOCAL, 32, 32), (32, 32, LOCAL, 12), (32, 32, 12, LOCAL)),
    devices=(
        Device("nvme", 0, later=True),  # QEMU cannot save the state of one
        Device("vmxnet3", 1),
        Device("virtio-gpu-pci", 2),  # PCI class 0380, as accelerators without a screen have
        Device("secondary-vga", 3),  # as above
    ),
)

SINGLE = Shape(
    name="single", smp="2", nodes=(Node("0-1", 1024),), distances=((LOCAL,),), devices=(Device("vmxnet3", 0),)
)

SHAPES = {shape.name: shape for shape in (NPS2, SINGLE)}
