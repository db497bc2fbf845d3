"""CPUs: which there are, which run, and how they are grouped.

Documentation/ABI/stable/sysfs-devices-system-cpu: ``offline`` also names ids that no CPU will ever have, so that what
is offline here is what is present and not online. Trees older than those files are told from the folders cpuN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from numatune.cpus import CpuSet
from numatune.discover.read import cpu_list, cpu_mask, members, number, numbered, text
from numatune.host.protocol import Reader
from numatune.topology.model import Core, Cpus

BASE = "/sys/devices/system/cpu"
_L3 = 3
_ISOLCPUS_FLAGS = re.compile(r"^(?:[a-z_]+,)*")


def cpus(reader: Reader) -> Cpus:
    """Everything of the section CPUS."""
    online = online_cpus(reader)
    folders = members(reader.names(BASE), "cpu")
    present = cpu_list(reader, f"{BASE}/present")
    told = online & folders
    packages = _packages(reader, told)
    untold = online - told
    return Cpus(
        online=online,
        offline=(folders if present is None else present) - online,
        isolated=_boot_set(reader, "isolated", "isolcpus"),
        nohz_full=_boot_set(reader, "nohz_full", "nohz_full"),
        cores=(*_cores(reader, told, packages), *(Core(cpus=CpuSet([cpu]), package=None) for cpu in untold)),
        packages={package: group for package, group in packages if package is not None},
        l3=tuple(_l3(reader, told)),
        smt_control=text(reader, f"{BASE}/smt/control") or "",
    )


def online_cpus(reader: Reader) -> CpuSet:
    """From ``online``; without it the folders of which none says 0, and which have a topology if any has one."""
    online = cpu_list(reader, f"{BASE}/online")
    if online is not None:
        return online
    folders = members(reader.names(BASE), "cpu")
    running = [cpu for cpu in folders if number(reader, f"{BASE}/cpu{cpu}/online") != 0]
    known = [cpu for cpu in running if reader.stat(f"{BASE}/cpu{cpu}/topology")]
    if folders:
        return CpuSet(known or running) - (cpu_list(reader, f"{BASE}/offline") or CpuSet())
    lines = (reader.read("/proc/cpuinfo").text or "").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("processor"))
    return members(named, "")


def possible_cpus(reader: Reader) -> int:
    """nr_cpu_ids, the width of the kernel's CPU masks: one more than the highest CPU that could be there."""
    known = (
        cpu_list(reader, f"{BASE}/possible")
        or cpu_list(reader, f"{BASE}/present")
        or members(reader.names(BASE), "cpu")
    )
    return known.last + 1 if known else 0


def _boot_set(reader: Reader, name: str, parameter: str) -> CpuSet:
    """What the kernel says it isolated at boot, else what its command line asked for."""
    found = cpu_list(reader, f"{BASE}/{name}")
    if found is not None:
        return found
    for word in (text(reader, "/proc/cmdline") or "").split():
        key, _, value = word.partition("=")
        if key != parameter:
            continue
        flags = _ISOLCPUS_FLAGS.match(value)
        named = flags[0] if flags else ""
        if named and parameter == "isolcpus" and "domain," not in named:
            continue
        try:
            return CpuSet.parse(value[len(named) :])
        except ValueError:
            continue
    return CpuSet()


def _shared(reader: Reader, cpu: int, *names: str) -> CpuSet:
    """The CPUs that `cpu` shares something with, by list or by mask; itself alone where nothing tells."""
    base = f"{BASE}/cpu{cpu}"
    found = cpu_list(reader, *(f"{base}/{name}_list" for name in names))
    found = found or cpu_mask(reader, *(f"{base}/{name}{kind}" for name in names for kind in ("", "_map")))
    return (found or CpuSet()) | CpuSet([cpu])


def _cores(reader: Reader, online: CpuSet, packages: list[tuple[int | None, CpuSet]]) -> Iterator[Core]:
    """One read a core: its lowest CPU names the others."""
    seen = CpuSet()
    package_of = {cpu: package for package, group in packages for cpu in group}
    for cpu in online:
        if cpu not in seen:
            siblings = (_shared(reader, cpu, "topology/thread_siblings", "topology/core_cpus") & online) - seen
            seen |= siblings
            yield Core(cpus=siblings, package=package_of.get(cpu))


def _packages(reader: Reader, online: CpuSet) -> list[tuple[int | None, CpuSet]]:
    """(id, CPUs) of each package, by lowest CPU; id None where the kernel gives none (-1 on some machines)."""
    found: list[tuple[int | None, CpuSet]] = []
    seen = CpuSet()
    for cpu in online:
        if cpu not in seen:
            group = (_shared(reader, cpu, "topology/core_siblings", "topology/package_cpus") & online) - seen
            package = number(reader, f"{BASE}/cpu{cpu}/topology/physical_package_id")
            seen |= group
            found.append((package if package is not None and package >= 0 else None, group))
    return _joined(found)


def _joined(groups: list[tuple[int | None, CpuSet]]) -> list[tuple[int | None, CpuSet]]:
    """Groups of one id as one: without core_siblings each CPU came alone."""
    joined: dict[int | None, CpuSet] = {}
    for package, group in groups:
        joined[package] = joined.get(package, CpuSet()) | group
    return list(joined.items())


def _l3(reader: Reader, online: CpuSet) -> Iterator[CpuSet]:
    seen = CpuSet()
    for cpu in online:
        if cpu in seen:
            continue
        for index in reversed(numbered(reader.names(f"{BASE}/cpu{cpu}/cache"), "index")):
            if number(reader, f"{BASE}/cpu{cpu}/cache/index{index}/level") == _L3:
                group = _shared(reader, cpu, f"cache/index{index}/shared_cpu") & online
                seen |= group
                yield group
                break
