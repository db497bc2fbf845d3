"""Groups in a tree that systemd owns: properties of units, given at run time.

A property given to a slice that does not run yet is kept, and is in force when it starts. systemd has no property for a
partition, so that is the unit's own kernel file, there only while the unit runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numatune.knobs.cpuset_rows import FORGETS, KEEPS_AFFINITY, Rows, asked_keys
from numatune.settings.codecs import Choice, Size, UnitSet
from numatune.settings.model import NotBelow, Setting, SettingId
from numatune.settings.targets import KernelFile, UnitProperty


def by_unit(names: Iterable[str], rows: Rows) -> Iterator[Setting]:
    """Settings of the groups that are units."""
    for name in names:
        for key in asked_keys(rows.groups[name]):
            yield _one(name, key, rows)


def _one(name: str, key: str, rows: Rows) -> Setting:
    groups = rows.topology.cgroups
    if key != "memory_max" and groups.version == 1:
        free = name.rpartition(".")[0]
        return rows.nothing(
            name,
            key,
            f"systemd hands out CPUs and nodes in the unified tree only, cpuset is v1 at {groups.cpuset_root} here: "
            f"a group without a unit's suffix ({free}) can be set there",
        )
    path = f"{groups.cpuset_root}/{unit_path(name)}"
    note = FORGETS if rows.older(KEEPS_AFFINITY) else ""  # the first such property makes systemd switch it on
    match key:
        case "cpus":
            target = UnitProperty(name, "AllowedCPUs", f"{path}/cpuset.cpus.effective")
            return rows.row(name, key, target, UnitSet(everything=str(rows.cpus)), note=note)
        case "mems":
            target = UnitProperty(name, "AllowedMemoryNodes", f"{path}/cpuset.mems.effective")
            return rows.row(name, key, target, UnitSet(everything=str(rows.mems), moves=True), note=note)
        case "memory_max":
            return _memory(name, rows)
        case _:
            target_file = KernelFile(
                (f"{path}/cpuset.cpus.partition",), absent=f"there only while {name} runs with a cpuset"
            )
            return rows.row(
                name,
                key,
                target_file,
                Choice(),
                needs=SettingId(f"cpuset:{name}/cpus"),
                guard=rows.last_cpus(name),
                note="systemd does not keep it: gone when the unit stops",
            )


def _memory(name: str, rows: Rows) -> Setting:
    groups = rows.topology.cgroups
    root, v1 = groups.memory_root or groups.cpuset_root, groups.memory_version == 1
    path = f"{root}/{unit_path(name)}"
    limit, used = ("memory.limit_in_bytes", "memory.usage_in_bytes") if v1 else ("memory.max", "memory.current")
    return rows.row(
        name,
        "memory_max",
        UnitProperty(name, "MemoryMax", f"{path}/{limit}"),
        Size(page=rows.topology.machine.page_size, unlimited="infinity"),
        guard=NotBelow(f"{path}/{used}"),
    )


def unit_path(unit: str) -> str:
    """Where a unit's cgroup is by default: of ``a-b.slice`` it is a.slice/a-b.slice, a service is in system.slice.

    Only what the unit is told says whether a service was put into another slice.
    """
    if unit == "init.scope":
        return unit
    stem, _, kind = unit.rpartition(".")
    if kind != "slice":
        template = stem.partition("@")[0] if "@" in stem else ""
        return f"system.slice/system-{template}.slice/{unit}" if template else f"system.slice/{unit}"
    parts = stem.split("-")
    return "/".join(f"{'-'.join(parts[: depth + 1])}.slice" for depth in range(len(parts)))
