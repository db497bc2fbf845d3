"""What is measured of the hardware, where other programs look: the kernel's lists of nodes, lscpu, getconf, the zones.

What is seen of devices is in pci.py beside this.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import assert_never

from numatune.cpus import CpuSet
from numatune.settings.measures import Beside, Devices, Memory, NodeKnown, Nodes, NodesPerPackage, OnlineCpus, Threads
from numatune.settings.model import Setting
from numatune.settings.plan import Status
from numatune.settings.targets import Trait
from numatune.verify.asking import Answer, Asking
from numatune.verify.kinds import pci
from numatune.verify.verdict import Verdict, fine, holds, unread, verdict

_NODE = "/sys/devices/system/node"
_STAT, _ZONEINFO = "/proc/stat", "/proc/zoneinfo"
_CPU = re.compile(r"^cpu[0-9]+ ", re.MULTILINE | re.ASCII)
_ZONE = re.compile(r"^Node ([0-9]+), zone", re.MULTILINE | re.ASCII)
_MANAGED = re.compile(r"^ +managed +([0-9]+)$", re.MULTILINE | re.ASCII)
_STEP = 128 << 20
"""Bytes. Memory sizes differ a little from boot to boot."""
_LATE = 1 << 20
"""Bytes. So much less than the host has is no difference of two moments."""


def trait(setting: Setting, target: Trait, ask: Asking) -> Verdict:
    """Judge a measure of the hardware, which nothing that is written can change."""
    answer = _measured(target, ask)
    if answer.text is None:
        return unread(setting, answer)
    if holds(setting, answer.text):
        return fine(setting, answer)
    return verdict(setting, Status.UNMET, answer, target.cause)


def _measured(target: Trait, ask: Asking) -> Answer:  # noqa: PLR0911  # one return a measure
    match target.of:
        case OnlineCpus():
            answer = ask.once(_STAT)
            return answer if answer.text is None else replace(answer, text=str(len(_CPU.findall(answer.text))))
        case Threads():
            return _threads(ask)
        case Nodes(which=which):
            return _nodes(which, ask)
        case NodesPerPackage():
            return _per_package(ask)
        case Memory(which=which):
            return _memory(which, ask)
        case Devices(match=match, per_node=True):
            return pci.fewest(match, dict(target.told), _ids(ask, "has_cpu"), ask)
        case Devices(match=match):
            return pci.counted(match, ask)
        case NodeKnown(device=address):
            return pci.node_known(address, dict(target.told), ask)
        case Beside() as beside:
            return pci.beside(beside, dict(target.told), ask)
        case _ as unreachable:
            assert_never(unreachable)


def _nodes(which: str, ask: Asking) -> Answer:
    """By the lists that the kernel keeps of all nodes."""
    source = f"{_NODE}/has_cpu, {_NODE}/has_memory"
    online = ask.once(f"{_NODE}/online")
    if online.text is None:
        return online
    cpu, memory = _ids(ask, "has_cpu"), _ids(ask, "has_memory")
    ids = {
        "all": _ids(ask, "online"),
        "cpu": cpu & memory,
        "cpu_only": cpu - memory,
        "memory": memory,
        "memory_only": memory - cpu,
    }[which]
    return Answer(f"{len(ids)} ({ids})" if ids else "0", source)


def _threads(ask: Asking) -> Answer:
    rows, source, trouble = _lscpu(ask, "core")
    counts = Counter((core, package) for _, core, package in rows if core)
    if not counts:
        return Answer(None, source, "absent", trouble or "it tells no cores")
    return Answer(str(max(counts.values())), source)


def _per_package(ask: Asking) -> Answer:
    rows, source, trouble = _lscpu(ask, "node")
    pairs = {(node, package) for _, node, package in rows if node and package}
    if not pairs:
        return Answer(None, source, "absent", trouble or "it tells no nodes")
    if max(Counter(node for node, _ in pairs).values()) > 1:
        return Answer("0 (a node spans packages)", source)
    counts = sorted(Counter(package for _, package in pairs).values())
    return Answer(str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}", source)


def _lscpu(ask: Asking, column: str) -> tuple[list[list[str]], str, str]:
    """Of each CPU that runs its number, that column, and its package; what was asked; what went wrong."""
    argv = ("lscpu", f"-p=cpu,{column},socket")
    said = ask.run_once(*argv)
    rows = [line.split(",") for line in said.stdout.splitlines() if line.count(",") == argv[1].count(",")]
    return [row for row in rows if not row[0].startswith("#")], " ".join(argv), said.stderr.strip()


def _memory(which: str, ask: Asking) -> Answer:
    """Of the host as sysinfo(2) tells it, through getconf; of nodes by the pages that their zones manage.

    The sum over a node's zones is its MemTotal (Linux mm/show_mem.c). While memory is still being initialised, zones
    have what is done so far: the only node that there can be has the memory of the host.
    """
    argv = ("getconf", "_PHYS_PAGES")
    pages, page = (ask.run_once("getconf", name).stdout.strip() for name in ("_PHYS_PAGES", "PAGESIZE"))
    if not (pages.isdecimal() and page.isdecimal()):
        return Answer(None, " ".join(argv), "absent", "no getconf")
    whole = int(pages) * int(page)
    if which == "total":
        return Answer(str(_rounded(whole)), " ".join(argv))
    zoneinfo = ask.once(_ZONEINFO)
    if zoneinfo.text is None:
        return zoneinfo
    sizes: Counter[int] = Counter()
    _, *zones = _ZONE.split(zoneinfo.text)
    for node, zone in zip(zones[::2], zones[1::2], strict=True):
        sizes[int(node)] += sum(map(int, _MANAGED.findall(zone))) * int(page)
    held = [sizes[node] for node in _ids(ask, "has_cpu")]
    if len(_ids(ask, "possible")) == len(held) == 1 and whole - held[0] > _LATE:
        held = [whole]
    if not held or not max(held):
        return replace(zoneinfo, text=None, trouble="absent", detail="no node has CPUs and memory")
    return replace(zoneinfo, text=_of_nodes(which, held))


def _of_nodes(which: str, held: list[int]) -> str:
    if which == "smallest_node":
        return str(_rounded(min(held)))
    return str(-(-(max(held) - min(held)) * 100 // max(held)))


def _rounded(count: int) -> int:
    return count // _STEP * _STEP


def _ids(ask: Asking, name: str) -> CpuSet:
    """Of one of the kernel's lists, an empty set when it does not tell."""
    try:
        return CpuSet.parse((ask.once(f"{_NODE}/{name}").text or "").strip())
    except ValueError:
        return CpuSet()
