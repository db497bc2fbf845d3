"""PCI devices by their uevent files, all in one command, and where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from numatune.cpus import CpuSet
from numatune.settings.measures import Beside, Match
from numatune.topology.match import kind_of, matches
from numatune.topology.model import Device
from numatune.verify.asking import Answer, Asking

_BUS = "/sys/bus/pci/devices"
_NODE = "/sys/devices/system/node"
_FIND = (
    *("find", "-L", _BUS, "-mindepth", "2", "-maxdepth", "2"),
    *("(", "-name", "uevent", "-o", "-name", "numa_node", "-o", "-name", "local_cpulist", ")"),
    *("-exec", "grep", "-H", "", "{}", "+"),
)
_SOURCE = f"{_BUS}/*/uevent"
_LINE = re.compile(rf"{_BUS}/([0-9a-f:.]+)/(\w+):(.*)$", re.MULTILINE | re.ASCII)
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_CLASSES = ("net", "infiniband", "nvme", "drm", "accel")
_VIRTIO = re.compile(r"virtio[0-9]+\Z", re.ASCII)


def counted(match: Match, ask: Asking) -> Answer:
    """How many devices match."""
    found = _Bus.seen(ask)
    return _untold() if found is None else _told(list(found.matching(match)))


def fewest(match: Match, told: Mapping[str, int], nodes: CpuSet, ask: Asking) -> Answer:
    """How many of them the one of `nodes` has that has the fewest."""
    found = _Bus.seen(ask)
    if found is None or not nodes:
        return _untold()
    places = [found.node(address, told) for address in found.matching(match)]
    count, node = min((places.count(node), node) for node in nodes)
    return Answer(f"{count} (node {node})", _SOURCE)


def node_known(address: str, told: Mapping[str, int], ask: Asking) -> Answer:
    """Whether the node of a device is known."""
    found = _Bus.seen(ask)
    if found is None or address not in found.devices:
        return _untold()
    known = found.node(address, told) is not None
    return Answer("known" if known else "unknown", f"{_BUS}/{address}/numa_node")


def beside(measure: Beside, told: Mapping[str, int], ask: Asking) -> Answer:
    """How many devices that match are at the node of a device, or below the same switch."""
    found = _Bus.seen(ask)
    if found is None or measure.device not in found.devices:
        return _untold()
    others = [address for address in found.matching(measure.match) if address != measure.device]
    if measure.within == "switch":
        above = set(found.parents(measure.device))
        return _told([other for other in others if above & set(found.parents(other))])
    node = found.node(measure.device, told)
    return _told([other for other in others if node is not None and found.node(other, told) == node])


def _told(addresses: list[str]) -> Answer:
    return Answer(f"{len(addresses)} ({' '.join(addresses)})" if addresses else "0", _SOURCE)


def _untold() -> Answer:
    return Answer(None, _SOURCE, "absent", "nothing is told there")


@dataclass(frozen=True)
class _Bus:
    """What one command said. `files`: text by (address, file)."""

    ask: Asking
    devices: Mapping[str, Device]
    files: Mapping[tuple[str, str], str]

    @classmethod
    def seen(cls, ask: Asking) -> _Bus | None:
        said: dict[tuple[str, str], list[str]] = {}
        for address, file, line in _LINE.findall(ask.run_once(*_FIND).stdout):
            said.setdefault((address, file), []).append(line)
        files = {place: "\n".join(lines) for place, lines in said.items()}
        devices = {address: _device(address, text) for (address, file), text in files.items() if file == "uevent"}
        return cls(ask, devices, files) if devices else None

    def matching(self, match: Match) -> Iterator[str]:
        """Addresses, in order. Names are looked up for the devices that all else is true of."""
        rest = [(key, text) for key, text in match if key != "name"]
        for address, device in sorted(self.devices.items()):
            named = len(rest) < len(match)
            if matches(rest, device) and (not named or matches(match, replace(device, names=self._names(address)))):
                yield address

    def node(self, address: str, told: Mapping[str, int]) -> int | None:
        """The operator's word, the device's own, that of the nearest bridge, that of its local CPUs; the only one."""
        if address in told:
            return told[address]
        for each in (address, *(self.parents(address) if self._own(address) is None else ())):
            if (own := self._own(each)) is not None:
                return own
        nodes = CpuSet.parse(self._list(f"{_NODE}/online"))
        if len(nodes) == 1:
            return nodes.first
        local = self.files.get((address, "local_cpulist"), "").strip()
        if not local or local == self._list("/sys/devices/system/cpu/online"):  # all CPUs say nothing
            return None
        return next((node for node in nodes if self._list(f"{_NODE}/node{node}/cpulist") == local), None)

    def parents(self, address: str) -> tuple[str, ...]:
        """Bridges above, nearest first."""
        way = self.ask.run_once("readlink", "-f", f"{_BUS}/{address}").stdout.strip()
        return tuple(reversed(_ADDRESS.findall(way)[:-1]))

    def _own(self, address: str) -> int | None:
        text = self.files.get((address, "numa_node"), "").strip()
        return int(text) if text.isdecimal() else None

    def _list(self, path: str) -> str:
        return (self.ask.once(path).text or "").strip()

    def _names(self, address: str) -> tuple[str, ...]:
        folder = f"{_BUS}/{address}"
        inner = [f"{folder}/{name}" for name in self.ask.names(folder) if _VIRTIO.match(name)]
        return tuple(
            name for where in (folder, *inner) for kind in _CLASSES for name in self.ask.names(f"{where}/{kind}")
        )


def _device(address: str, uevent: str) -> Device:
    """``PCI_CLASS=30200``, ``PCI_ID=10DE:2330``, ``DRIVER=nvidia``."""
    told = dict(line.partition("=")[::2] for line in uevent.splitlines())
    class_ = told.get("PCI_CLASS", "").lower().zfill(6)[:4]
    vendor, _, device = told.get("PCI_ID", "").lower().partition(":")
    driver = told.get("DRIVER", "")
    kind = kind_of(class_, vendor, driver, address)
    return Device(address=address, class_=class_, kind=kind, vendor=vendor, device=device, driver=driver)
