"""Whether what is written to a kernel is within what it may hold: bounds.yaml, and the figures that a host brings.

A second opinion: it looks at the texts that are written, and shares only the catalogue of sysctls with the knobs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.host.protocol import Reader
from numatune.knobs.sysctl_catalogue import CATALOGUE, UNKNOWN
from numatune.settings.codecs import bytes_of
from numatune.settings.plan import Action, Change
from numatune.settings.targets import HugepagePool, IrqAffinity, KernelFile, UnitProperty
from numatune.topology.model import Section, Topology

TABLE = Path(__file__).with_name("bounds.yaml")
SYSCTLS = "/proc/sys/"
COMMANDS = frozenset({"systemctl", "modprobe", "rmmod"})
LONGEST = 1000
"""Characters of a sysctl of which nothing is known."""

_GIB_KB = 1 << 20
_LOGGED = re.compile(r"<(?:make|drop|run|unmount|mount .*|(?:mpol|size|huge)=.*)>")
_CALLED = re.compile(r"/[!-~]{1,200}")


def of_plan(changes: Iterable[Change], reader: Reader) -> list[str]:
    """What a plan would write beyond a bound."""
    return [told for change in changes if change.action is not Action.NONE for told in _of_change(change, reader)]


def of_writes(log: Iterable[tuple[str, str]], reader: Reader) -> list[str]:
    """What was written beyond a bound, or to where nobody may write."""
    return [told for path, text in log for told in _of_write(path, text, reader)]


def _of_change(change: Change, reader: Reader) -> Iterator[str]:
    target, seen = change.setting.target, change.seen
    match target:
        case KernelFile():
            for text in change.writes:
                yield from _of_write(seen.where or target.paths[0], text, reader)
        case IrqAffinity():
            for text in change.writes:
                yield from _of_write("/proc/irq/0/smp_affinity_list", text, reader)
        case HugepagePool(node, kb):
            held = int(seen.text) if (seen.text or "").strip().isdecimal() else 0  # type: ignore[arg-type]
            free = _node_free(node, reader)
            if free is not None and (int(change.setting.want or 0) - held) * kb > free:
                yield f"{change.setting.id}: {change.setting.want} pages do not fit {free} kB"
        case UnitProperty(_, "AllowedCPUs" | "AllowedMemoryNodes" as name):
            kind = "cpus" if name == "AllowedCPUs" else "nodes"
            for text in change.writes:
                if not _within_list(text, kind, reader):
                    yield f"{change.setting.id}: {text!r} is no list of {kind} of this host"


def _of_write(path: str, text: str, reader: Reader) -> Iterator[str]:
    if _LOGGED.fullmatch(text):
        if not _CALLED.fullmatch(path) and path.partition(" ")[0] not in COMMANDS:
            yield f"{path[:200]!r} is called with {text}"
    elif path.startswith(SYSCTLS):
        yield from _of_sysctl(path.removeprefix(SYSCTLS).translate(str.maketrans("./", "/.")), text, reader)
    else:
        found = next((bound for pattern, bound in _table() if pattern.fullmatch(path)), None)
        if found is None:
            yield f"{path} is written, and bounds.yaml knows no bound for it"
        elif not _fits(found, text.strip(), reader):
            yield f"{path}: {text[:200]!r} is beyond {found}"


def _of_sysctl(key: str, text: str, reader: Reader) -> Iterator[str]:
    known = CATALOGUE.get(key, UNKNOWN)
    if not text.isprintable() or len(text) > LONGEST:
        yield f"{key}: {text[:200]!r} is no line of text"
    if known.type == "int" and not re.fullmatch(r"-?[0-9]{1,20}", text):
        yield f"{key}: {text[:200]!r} is no number"
    elif known.type == "int" and not (known.or_zero and int(text) == 0):
        low, high = known.min, known.max
        if (low is not None and int(text) < low) or (high is not None and int(text) > high):
            yield f"{key}: {text} is not within {low} to {high}"
    if known.type == "cpulist" and not _within_list(text, "cpus", reader):
        yield f"{key}: {text!r} is no list of CPUs of this host"
    if key == "vm.min_free_kbytes" and (most := _min_free(reader)) is not None and int(text) > most:
        yield f"{key}: {text} is more than the {most} kB that a host of this size can spare"


def _min_free(reader: Reader) -> int | None:
    """The larger of 1 GiB and 5 % of the smallest node, and a fifth of all memory at most; in kB."""
    host = _host(reader)
    sizes = [node.memory_bytes >> 10 for node in host.nodes if node.kind == "cpu+mem" and node.memory_bytes]
    total = sum(node.memory_bytes or 0 for node in host.nodes) >> 10
    return min(max(_GIB_KB, min(sizes) // 20), total // 5) if sizes and total else None


@functools.cache
def _table() -> tuple[tuple[re.Pattern[str], dict[str, Any]], ...]:
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return tuple((re.compile(row.pop("path"), re.ASCII), row) for row in rows)


def _fits(bound: dict[str, Any], text: str, reader: Reader) -> bool:
    ((kind, accepted),) = bound.items()
    match kind:
        case "int":
            return bool(re.fullmatch(r"[0-9]{1,20}", text)) and accepted[0] <= int(text) <= accepted[1]
        case "words":
            return set(text.split()) <= set(accepted)
        case "mask":
            return CpuSet.parse_mask(text) <= CpuSet(range(_width(reader)))
        case "list":
            return _within_list(text, accepted, reader)
        case "bytes":
            size = bytes_of(text)
            return text in {"max", "-1"} or (size is not None and size >= accepted)
        case _:
            return re.fullmatch(accepted, text) is not None


def _within_list(text: str, kind: str, reader: Reader) -> bool:
    host = _host(reader)
    nodes = CpuSet(node.id for node in host.nodes) or CpuSet([0])
    return CpuSet.parse(text.replace(" ", ",")) <= (CpuSet(range(_width(reader))) if kind == "cpus" else nodes)


def _width(reader: Reader) -> int:
    host = _host(reader)
    return max(host.machine.possible_cpus, *(cpu + 1 for cpu in (host.cpus.online | host.cpus.offline)), 1)


def _host(reader: Reader) -> Topology:
    return discover(reader, {Section.NODES})


def _node_free(node: int, reader: Reader) -> int | None:
    found = re.search(r"MemFree: *([0-9]+) kB", reader.read(f"/sys/devices/system/node/node{node}/meminfo").text or "")
    return int(found[1]) if found else None
