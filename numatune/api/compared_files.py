"""The kernel files that the knobs know, and the modules, of two hosts as entries."""

from __future__ import annotations

import errno
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from numatune.capture.allowed import globs
from numatune.discover.read import integer
from numatune.host.protocol import Reader
from numatune.host.uncaptured import lacks
from numatune.settings.codecs import Choice
from numatune.topology.comparison import Entry
from numatune.topology.model import Topology

_CPU = "/sys/devices/system/cpu"
_MODULES = "/sys/module"
_GROUPS = (
    ("sysctl", "/proc/sys/"),
    ("thp", "/sys/kernel/mm/transparent_hugepage/"),
    ("ksm", "/sys/kernel/mm/ksm/"),
    ("memory", "/sys/kernel/mm/"),
    ("workqueues", "/sys/devices/virtual/workqueue/"),
    ("numa_balancing", "/sys/kernel/debug/sched/numa_balancing/"),
    ("cpufreq", f"{_CPU}/cpufreq/"),
    ("smt", f"{_CPU}/smt/"),
    ("cpus", f"{_CPU}/"),
)
"""What a file is called: the first folder that it is in, and what is left of its path."""

_NO_SETTING = re.compile(
    r"/proc/sys/kernel/(?:osrelease|random/.*|hung_task_warnings|perf_event_max_sample_rate)"
    r"|.*/transparent_hugepage/(?:khugepaged/(?:pages_collapsed|full_scans)|.*/stats/.*|hpage_pmd_size)"
    r"|.*/ksm/(?:pages_(?:shared|sharing|unshared|volatile|skipped|scanned)|full_scans|general_profit|stable_node_.*"
    r"|ksm_zero_pages)"
    r"|.*/hugepages/.*|.*/pid_max"
    r"|.*/(?:scaling_available_governors|energy_performance_available_preferences|related_cpus|affected_cpus|name)"
    r"|.*/system/cpu/(?:online|offline|isolated|nohz_full|modalias|uevent)"
    r"|.*/cpu\[0-9\]\*(?:/(?:online|topology.*|cache.*))?"
)
"""Counters, what only identifies, and what other sections of the comparison have."""

_NUMBERED = re.compile(r"/(policy|cpu)[0-9]+/")
_BY_MEMORY = frozenset(
    {"kernel.threads-max", "net.ipv4.tcp_mem", "net.ipv4.udp_mem", "vm.min_free_kbytes", "vm.user_reserve_kbytes"}
)
"""Sysctls that the kernel works out from the size of memory: equal within some percent."""
_PERCENT = 2

Sides = tuple[list[Entry], list[Entry]]
Names = Mapping[str, str]


def settings(a: Reader, b: Reader, hosts: tuple[Topology, Topology], called: tuple[Names, Names]) -> Sides:
    """Files that either has. Those of each CPU, policy or queue are one entry that counts their values."""
    patterns = [glob for glob in globs() if _group(glob) and not _NO_SETTING.fullmatch(glob)]
    files = (_files(a, patterns), _files(b, patterns))
    names = {**files[0], **files[1]}
    sides: Sides = ([], [])
    for side, reader, held, host, labels in zip(sides, (a, b), files, hosts, called, strict=True):
        for path in names:
            if path in held:
                side.append(_entry(path, held[path]))
            elif lacks(_some(path), reader):
                side.append(_entry(path, [None]))
        side.extend(_queues(reader, host, labels))
    return sides


def drivers(a: Reader, b: Reader) -> Sides:
    """Modules that can be loaded, with the version of those that have one."""
    held = tuple({name: _module(reader, name) for name in reader.names(_MODULES)} for reader in (a, b))
    loaded = sorted({name for side in held for name, told in side.items() if told})
    sides: Sides = ([], [])
    for side, reader, modules in zip(sides, (a, b), held, strict=True):
        untold = lacks(f"{_MODULES}/x/initstate", reader) or not any(modules.values())
        for name in loaded:
            if modules.get(name):
                side.append(Entry(section="drivers", of="", name=name, value=modules[name]))
            elif untold:
                side.append(Entry(section="drivers", of="", name=name, value=None))
    return sides


def _module(reader: Reader, name: str) -> str:
    """Its version, or that it is loaded; nothing for what is built in and tells no version."""
    version = reader.read(f"{_MODULES}/{name}/version").text
    if version:
        return version.strip()
    return "loaded" if reader.read(f"{_MODULES}/{name}/initstate").text else ""


def _files(reader: Reader, patterns: Iterable[str]) -> dict[str, list[str | None]]:
    """Texts by path, with a * for the number of a CPU or policy; None for what could not be read."""
    found: dict[str, list[str | None]] = {}
    for pattern in patterns:
        for path in _expanded(reader, pattern):
            read = reader.read(path)
            if read.errno in {errno.ENOENT, errno.ENOTDIR, errno.EISDIR} or _NO_SETTING.fullmatch(path):
                continue
            found.setdefault(_NUMBERED.sub(r"/\1*/", path), []).append(read.text)
    return found


def _expanded(reader: Reader, pattern: str) -> Iterator[str]:
    folders = [""]
    for part in pattern.strip("/").split("/"):
        if not set(part) & set("*[?"):
            folders = [f"{folder}/{part}" for folder in folders]
            continue
        folders = [f"{folder}/{name}" for folder in folders for name in reader.names(folder) if fnmatchcase(name, part)]
    yield from folders


def _group(path: str) -> tuple[str, str] | None:
    return next(((name, path.removeprefix(start)) for name, start in _GROUPS if path.startswith(start)), None)


def _entry(path: str, texts: list[str | None]) -> Entry:
    group, name = _group(path) or ("", path)
    if group == "sysctl":
        name = name.replace("/", ".")
    value = _spelled([text for text in texts if text is not None])
    numbers = tuple(number for word in (value or "").split() if (number := integer(word)) is not None)
    scaled = numbers if name in _BY_MEMORY else ()
    return Entry(section="settings", of=group, name=name, value=value, numbers=scaled, percent=_PERCENT)


def _spelled(texts: list[str]) -> str | None:
    """The one value, or each with how many have it."""
    counts = Counter(" ".join(Choice().show(text).split()) or "none" for text in texts)
    if not counts:
        return None
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{value} ({count})" for value, count in sorted(counts.items()))


def _some(path: str) -> str:
    """A path that the glob of a folded one has."""
    return path.replace("*", "0")


def _queues(reader: Reader, host: Topology, labels: Names) -> Iterator[Entry]:
    """Masks of the queues of each device."""
    masks: dict[tuple[str, str], list[str]] = {}
    for queues in host.queues:
        files = (
            *(("rps_cpus", f"rx-{number}/rps_cpus") for number in queues.receive),
            *(("xps_cpus", f"tx-{number}/xps_cpus") for number in queues.transmit),
        )
        for name, below in files:
            text = reader.read(f"/sys/class/net/{queues.interface}/queues/{below}").text
            if text is not None and queues.device in labels:
                masks.setdefault((labels[queues.device], name), []).append(_trimmed(text))
    for (of, name), texts in masks.items():
        yield Entry(section="settings", of=of, name=name, value=_spelled(texts))


def _trimmed(mask: str) -> str:
    """A mask without the zeros that only tell how many CPUs the kernel has room for."""
    return mask.strip().lstrip("0,") or "0"
