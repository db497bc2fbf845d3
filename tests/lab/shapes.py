"""The shapes of machines: nodes, processors, devices, and the QEMU arguments that make them (QEMU 7.2 and newer).

Every device names its bus: an unnamed one can land on a bridge that refuses it. As few processors as a case needs: each
beyond the real ones costs time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LOCAL = 10  # ACPI's distance of a node to itself
TABLE = "firmware.aml"  # in a machine's folder: what its shape's `firmware` is compiled to


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its CPUs as a QEMU range ("0-1"; "" for none), its memory in MiB (0 for none).

    `beside`: for one without CPUs, the node whose CPUs are its nearest.
    """

    cpus: str
    mebibytes: int
    beside: int | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What firmware says (in its HMAT) of access from a node with CPUs to one with memory."""

    nanoseconds: int
    mebibytes: int  # a second


@dataclass(frozen=True, slots=True)
class Device:
    """A device in a slot of its own below a host bridge of that node; `later`: plugged in once the machine runs."""

    model: str
    node: int
    later: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A machine. Its way in (a virtio NIC) and its disk are on the root bus, whose devices have node -1.

    `smp`: CPUs and how they are grouped, as QEMU takes it. `distances`: a row for each node.
    """

    name: str
    smp: str
    nodes: tuple[Node, ...]
    distances: tuple[tuple[int, ...], ...]
    devices: tuple[Device, ...] = ()
    spare: int | None = None  # the node that has a slot with nothing in it
    reach: tuple[tuple[Reach, ...], ...] = ()  # a row for each node with CPUs; none: firmware has no such table
    firmware: Path | None = None  # an ACPI table besides QEMU's own, in ACPI's language

    @property
    def cores(self) -> int:
        """How many there are; threads of one core count once."""
        words = dict(word.split("=") for word in self.smp.split(",")[1:])
        return int(self.smp.partition(",")[0]) // int(words.get("threads", 1))

    def arguments(self) -> list[str]:
        """What QEMU is told of processors, memory, and the devices that are there from the start."""
        return [
            *self._memory(),
            *self._table(),
            *(("-acpitable", f"file={TABLE}") if self.firmware else ()),
            *self._bridges(),
            *(word for device in self.devices for word in self._at_start(device)),
        ]

    def plugs(self) -> Iterator[dict[str, object]]:
        """The arguments of `device_add` for the devices that come later."""
        return (self.plug(device) for device in self.devices if device.later)

    def plug(self, device: Device) -> dict[str, object]:
        """The arguments of `device_add` for one of the devices."""
        return {"driver": device.model, **self._place(device), **BACKENDS.get(device.model, {})}

    def device(self, model: str) -> Device:
        """The first device of a model."""
        return next(device for device in self.devices if device.model == model)

    def called(self, device: Device) -> str:
        """What QEMU calls it."""
        return f"dev{self.devices.index(device)}"

    def address(self, device: Device) -> str:
        """Its PCI address in the guest: buses are counted through the slots of its bridge."""
        slots = [other for other in self.devices if other.node == device.node]
        return f"0000:{bus(device.node) + 1 + slots.index(device):02x}:00.0"

    def _memory(self) -> Iterator[str]:
        size = sum(node.mebibytes for node in self.nodes)
        # Firmware tells of a node that has nothing only where memory may come to it: that is always the last one.
        later = "" if self.nodes[-1].cpus or self.nodes[-1].mebibytes else f",slots=1,maxmem={size + 1024}M"
        yield from ("-smp", self.smp, "-m", f"{size}M{later}")
        for number, node in enumerate(self.nodes):
            words = [f"node,nodeid={number}"]
            if node.cpus:
                words.append(f"cpus={node.cpus}")
            if node.beside is not None:
                words.append(f"initiator={node.beside}")
            if node.mebibytes:
                yield from ("-object", f"memory-backend-ram,id=mem{number},size={node.mebibytes}M")
                words.append(f"memdev=mem{number}")
            yield from ("-numa", ",".join(words))
        for source, row in enumerate(self.distances):
            for target, distance in enumerate(row):
                if source != target:
                    yield from ("-numa", f"dist,src={source},dst={target},val={distance}")

    def _table(self) -> Iterator[str]:
        if self.reach:
            yield from ("-machine", "hmat=on")
        for source, row in enumerate(self.reach):
            for target, reach in enumerate(row):
                pair = f"hmat-lb,initiator={source},target={target},hierarchy=memory"
                yield from ("-numa", f"{pair},data-type=access-latency,latency={reach.nanoseconds}")
                yield from ("-numa", f"{pair},data-type=access-bandwidth,bandwidth={reach.mebibytes}M")

    def _bridges(self) -> Iterator[str]:
        nodes = [device.node for device in self.devices] + ([] if self.spare is None else [self.spare])
        for node in sorted({*nodes}):
            place = f"bus_nr={bus(node):#x},bus=pcie.0"
            yield from ("-device", f"pxb-pcie,id=host{node},{place},numa_node={node}")
        for number, node in enumerate(nodes):
            slot = f"bus=host{node},chassis={number + 1},addr={number + 1:#x}"
            yield from ("-device", f"pcie-root-port,id=port{number},{slot}")

    def _at_start(self, device: Device) -> Iterator[str]:
        backend = BACKENDS.get(device.model, {})
        if "netdev" in backend:
            yield from ("-netdev", f"user,id={backend['netdev']}")
        if not device.later:
            words = {**self._place(device), **backend}
            yield from ("-device", ",".join((device.model, *(f"{key}={value}" for key, value in words.items()))))

    def _place(self, device: Device) -> dict[str, str]:
        return {"id": self.called(device), "bus": f"port{self.devices.index(device)}"}


def bus(node: int) -> int:
    """The number of the root bus of a node."""
    return 0x20 + 0x20 * node


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
    spare=0,
)

GRACE = Shape(
    name="grace",  # two sockets with SMT; the memory of an accelerator beside each; a node that has nothing yet
    smp="4,sockets=2,cores=1,threads=2",
    nodes=(Node("0-1", 512), Node("2-3", 512), Node("", 256, beside=0), Node("", 256, beside=1), Node("", 0)),
    distances=(
        (LOCAL, 40, 80, 120, 120),
        (40, LOCAL, 120, 80, 120),
        (80, 120, LOCAL, 120, 120),
        (120, 80, 120, LOCAL, 120),
        (120, 120, 120, 120, LOCAL),
    ),
    devices=(Device("virtio-gpu-pci", 0), Device("virtio-gpu-pci", 1), Device("vmxnet3", 1)),
    reach=(
        (Reach(120, 512_000), Reach(240, 128_000), Reach(480, 384_000), Reach(720, 128_000)),
        (Reach(240, 128_000), Reach(120, 512_000), Reach(720, 128_000), Reach(480, 384_000)),
    ),
)

TIERED = Shape(
    name="tiered",  # two sockets, and a node of slow memory, as a CXL expander is
    smp="2,sockets=2,cores=1,threads=1",
    nodes=(Node("0", 512), Node("1", 512), Node("", 512, beside=0)),
    distances=((LOCAL, 21, 30), (21, LOCAL, 40), (30, 40, LOCAL)),
    devices=(Device("vmxnet3", 0), Device("virtio-gpu-pci", 1)),
    reach=(
        (Reach(100, 204_800), Reach(150, 102_400), Reach(350, 25_600)),
        (Reach(150, 102_400), Reach(100, 204_800), Reach(450, 12_800)),
    ),
)

SINGLE = Shape(
    name="single",  # one node, whose CPUs have frequencies and idle states to set
    smp="2",
    nodes=(Node("0-1", 1024),),
    distances=((LOCAL,),),
    devices=(Device("vmxnet3", 0),),
    firmware=Path(__file__).with_name("firmware.asl"),
)

SHAPES = {shape.name: shape for shape in (NPS2, GRACE, TIERED, SINGLE)}
