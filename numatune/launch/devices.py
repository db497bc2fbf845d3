"""The accelerators that the driver gives this process, in the order in which its runtime counts them.

NVIDIA  /proc/driver/nvidia/gpus in PCI order, which is NVML's, where /dev/nvidiaN may be opened
AMD     the GPU nodes of /sys/class/kfd in their order, where /dev/dri/renderDN may be opened
others  PCI order, where /dev/dri/renderDN may be opened if there is one

Nothing is opened: opening /dev/nvidiaN would wake the device. access(2) asks the device cgroup too. A captured tree has
no /dev, so that there all devices of the driver's or PCI's list count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from numatune.discover.read import fields, integer, numbered, text
from numatune.host.protocol import Reader
from numatune.launch.seats import computes
from numatune.launch.visible import AMD, INTEL, NVIDIA, Accelerator
from numatune.topology.model import Device, Topology
from numatune.topology.resolve import canonical

_NVIDIA = "/proc/driver/nvidia"
_KFD = "/sys/class/kfd/kfd/topology/nodes"

MayOpen = Callable[[str], bool]
"""Whether this process may open a device file."""


@dataclass(frozen=True, slots=True)
class Found:
    """given: what this process can use; kin: addresses of all that the driver has on this host, hidden ones too."""

    given: tuple[Accelerator, ...]
    kin: frozenset[str] = frozenset()


def accelerators(reader: Reader, topology: Topology, may_open: MayOpen) -> Found:
    """What there is. `may_open` is asked on a live host only."""
    may = may_open if reader.live else lambda _: True
    nvidia, kin = _nvidia(reader, topology, may)
    amd = _amd(reader, topology, may)
    driven = {NVIDIA, AMD} if reader.live else {one.vendor for one in (*nvidia, *amd)}
    rest = (one for one in topology.devices if one.kind == "accelerator" and computes(one) and one.vendor not in driven)
    others = [made for one in rest for made in _other(reader, one, may)]
    return Found((*nvidia, *amd, *others), frozenset(kin))


def _nvidia(reader: Reader, topology: Topology, may: MayOpen) -> tuple[list[Accelerator], list[str]]:
    listed = {canonical(name): name for name in reader.names(f"{_NVIDIA}/gpus")}
    known = {one.address: one for one in topology.devices}
    found = []
    for address in sorted(listed, key=list(known).index if listed.keys() <= known.keys() else str):
        told = fields(text(reader, f"{_NVIDIA}/gpus/{listed[address]}/information"))
        minor = integer(told.get("Device Minor", ""))
        if minor is not None and not may(f"/dev/nvidia{minor}"):
            continue
        uuid, model = told.get("GPU UUID", ""), known[address].device if address in known else ""
        instances = tuple(_instances(reader, minor)) if minor is not None else ()
        found.append(
            Accelerator(
                address=address,
                vendor=NVIDIA,
                uuid=uuid if uuid.startswith("GPU-") and "?" not in uuid else "",
                model=model,
                instances=instances,
                file=f"nvidia{minor}" if minor is not None else "",
            )
        )
    return found, list(listed)


def _instances(reader: Reader, minor: int) -> Iterator[str]:
    """GPU and compute instances of a device in MIG mode, as its old names end: ``7/0``."""
    base = f"{_NVIDIA}/capabilities/gpu{minor}/mig"
    for gi in numbered(reader.names(base), "gi"):
        for ci in numbered(reader.names(f"{base}/gi{gi}"), "ci"):
            yield f"{gi}/{ci}"


def _amd(reader: Reader, topology: Topology, may: MayOpen) -> list[Accelerator]:
    """Kernel: drivers/gpu/drm/amd/amdkfd/kfd_topology.c. A node whose properties the cgroup hides is not ours."""
    known = {one.address: one for one in topology.devices}
    found: list[Accelerator] = []
    for node in sorted(numbered(reader.names(_KFD), "")):
        lines = (reader.read(f"{_KFD}/{node}/properties").text or "").splitlines()
        told = {key: integer(value.strip()) for key, _, value in (line.partition(" ") for line in lines)}
        minor, place = told.get("drm_render_minor"), told.get("location_id")
        if not told.get("simd_count") or place is None or (minor and not may(f"/dev/dri/renderD{minor}")):
            continue
        address = f"{told.get('domain') or 0:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
        device = known.get(address) or known.get(f"{address[:-1]}0")
        unique = told.get("unique_id")
        found.append(
            Accelerator(
                address=device.address if device else address,
                vendor=AMD,
                uuid=f"GPU-{unique:016x}" if unique else "",
                model=device.device if device else "",
                file=f"dri/renderD{minor}" if minor else "",
            )
        )
    return _partitions(found)


def _partitions(found: list[Accelerator]) -> list[Accelerator]:
    """Nodes of one PCI device are its partitions (CPX), in their order."""
    count = {one.address: sum(each.address == one.address for each in found) for one in found}
    made: list[Accelerator] = []
    for one in found:
        part = sum(each.address == one.address for each in made)
        made.append(replace(one, part=part, parts=count[one.address]))
    return made


def _other(reader: Reader, device: Device, may: MayOpen) -> Iterator[Accelerator]:
    files = [f"/dev/dri/{name}" for name in device.names if name.startswith("renderD")]
    if not all(map(may, files)):
        return
    tiles = 1
    if device.vendor == INTEL:
        cards = [name for name in device.names if name.startswith("card")]
        counts = [len(numbered(reader.names(f"/sys/class/drm/{card}/gt"), "gt")) for card in cards]
        counts.append(len(numbered(reader.names(f"/sys/bus/pci/devices/{device.address}"), "tile")))
        tiles = max(1, *counts)
    file = next((path.removeprefix("/dev/") for path in files), "")
    yield Accelerator(address=device.address, vendor=device.vendor, model=device.device, tiles=tiles, file=file)
