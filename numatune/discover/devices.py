"""PCI devices: class, driver, names, node, bridges above. The rest of the resolver is topology/resolve.py, pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from numatune.cpus import CpuSet
from numatune.discover.read import cpu_list, cpu_mask, number, text
from numatune.host.protocol import Reader
from numatune.topology.match import kind_of
from numatune.topology.model import Device
from numatune.topology.resolve import canonical

_BUS = "/sys/bus/pci/devices"
_GPUS = "/proc/driver/nvidia/gpus"
_NVIDIA = "10de"
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_CLASSES = ("net", "infiniband", "nvme", "drm", "accel")
_DRM = re.compile(r"(?:card|renderD)\d+\Z", re.ASCII)
_VIRTIO = re.compile(r"virtio\d+\Z", re.ASCII)


def devices(reader: Reader) -> tuple[Device, ...]:
    """All PCI devices by address, not yet resolved."""
    where = _places(reader)
    names = _names(reader, where)
    nvidia = {canonical(name) for name in reader.names(_GPUS)}
    return tuple(
        _device(reader, address, where[address], names.get(address, []), _NVIDIA if address in nvidia else "")
        for address in sorted(where, key=order)
    )


def order(address: str) -> tuple[int, ...]:
    """Sort key: domain, bus, device and function by value."""
    return tuple(int(piece, 16) for piece in re.split("[:.]", address))


def _places(reader: Reader) -> dict[str, str]:
    """Real folder of each device. A tree without the bus is walked from its host bridges down."""
    found = {name: reader.real(f"{_BUS}/{name}") or "" for name in reader.names(_BUS) if _ADDRESS.match(name)}
    if not found:
        roots = (name for name in reader.names("/sys/devices") if name.startswith("pci"))
        found = {address: path for root in roots for address, path in _below(reader, f"/sys/devices/{root}")}
    return {address: path for address, path in found.items() if path}


def _below(reader: Reader, folder: str) -> Iterator[tuple[str, str]]:
    for name in reader.names(folder):
        if _ADDRESS.match(name):
            yield name, f"{folder}/{name}"
            yield from _below(reader, f"{folder}/{name}")


def _device(reader: Reader, address: str, path: str, names: list[str], by_driver: str) -> Device:
    """`by_driver`: the vendor whose driver lists it, for trees that have no file of it."""
    vendor = _hex(reader, f"{path}/vendor") or by_driver
    driver = (reader.real(f"{path}/driver") or "").rpartition("/")[2]
    class_ = _hex(reader, f"{path}/class")[:4]
    node = number(reader, f"{path}/numa_node")
    return Device(
        address=address,
        class_=class_,
        kind=kind_of(class_, vendor, driver, address),
        vendor=vendor,
        device=_hex(reader, f"{path}/device"),
        driver=driver,
        names=tuple(names),
        node=node if node is not None and node >= 0 else None,
        local_cpus=_local(reader, path),
        parents=tuple(reversed([piece for piece in path.split("/")[:-1] if _ADDRESS.match(piece)])),
    )


def _hex(reader: Reader, path: str) -> str:
    """``0x030200`` -> ``030200``."""
    return (text(reader, path) or "").removeprefix("0x")


def _local(reader: Reader, path: str) -> CpuSet | None:
    found = cpu_list(reader, f"{path}/local_cpulist")
    return cpu_mask(reader, f"{path}/local_cpus") if found is None else found


def _names(reader: Reader, where: dict[str, str]) -> dict[str, list[str]]:
    """What /sys/class calls the devices. A virtio NIC's device is a virtio device, so the path is walked up."""
    found: dict[str, list[str]] = {}
    for kind in _CLASSES:
        entries = reader.names(f"/sys/class/{kind}")
        pairs = _by_class(reader, kind, entries) if entries else _by_device(reader, kind, where)
        for address, name in pairs:
            if kind != "drm" or _DRM.match(name):
                found.setdefault(address, []).append(name)
    return found


def _by_class(reader: Reader, kind: str, entries: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in entries:
        entry = f"/sys/class/{kind}/{name}"
        for path in (reader.real(entry), reader.real(f"{entry}/device")):
            above = [piece for piece in (path or "").split("/") if _ADDRESS.match(piece)]
            if above:
                yield above[-1], name
                break


def _by_device(reader: Reader, kind: str, where: dict[str, str]) -> Iterator[tuple[str, str]]:
    """For trees without /sys/class: DEVICE/net/eth0, DEVICE/virtio0/net/eth0."""
    for address, path in where.items():
        inner = [f"{path}/{name}" for name in reader.names(path) if _VIRTIO.match(name)]
        for folder in (path, *inner):
            for name in reader.names(f"{folder}/{kind}"):
                yield address, name
