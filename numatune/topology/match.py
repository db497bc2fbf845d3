"""Which devices are meant: kinds of them, and the pairs of a match. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from numatune.topology.model import Device, DeviceKind

_NVIDIA, _INTEL = "10de", "8086"
_DISPLAY_DRIVERS = frozenset({"nvidia", "nouveau", "amdgpu"})
_INTEL_DRIVERS = frozenset({"i915", "xe"})
_INTEGRATED = "0000:00:02.0"


def kind_of(class_: str, vendor: str, driver: str, address: str) -> DeviceKind:
    """By class and subclass (PCI code and ID assignment). A server's own VGA is 0300 too, as an accelerator may be."""
    if class_ in {"0302", "0380", "0b40"} or class_.startswith("12"):
        return "accelerator"
    if class_ == "0300":
        intel_card = vendor == _INTEL and driver in _INTEL_DRIVERS and address != _INTEGRATED
        return "accelerator" if vendor == _NVIDIA or driver in _DISPLAY_DRIVERS or intel_card else "other"
    if class_ in {"0207", "0c06"}:
        return "infiniband"
    if class_.startswith("02"):
        return "nic"
    return "nvme" if class_ == "0108" else "other"


KEYS = frozenset({"class", "address", "driver", "name", "vendor", "device"})
"""Of a match."""


def matches(pairs: Iterable[tuple[str, str]], device: Device) -> bool:
    """Whether every (key, text) holds. All but `class` are globs; `name` is any of its names (eth0, mlx5_0)."""
    return all(_matches(key, text, device) for key, text in pairs)


def _matches(key: str, text: str, device: Device) -> bool:
    match key:
        case "class":
            return device.kind == text
        case "name":
            return any(fnmatchcase(name, text) for name in device.names)
        case "driver":
            return fnmatchcase(device.driver, text)
        case "address" | "vendor" | "device":
            return fnmatchcase(getattr(device, key), text.lower())
    raise ValueError(key)
