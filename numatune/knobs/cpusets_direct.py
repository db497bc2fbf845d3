"""Groups in a tree that nobody else owns: directories that are made, controllers switched on from the top down, files.

v1 has cpuset and memory in trees of their own, and a cpuset there takes no task before cpus and mems are both set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from numatune.errors import Problem
from numatune.knobs.base import Path, Refused
from numatune.knobs.cpuset_groups import Group
from numatune.knobs.cpuset_rows import FORGETS, KEEPS_AFFINITY, Rows, asked_keys
from numatune.settings.codecs import Choice, CpuList, GroupSet, Members, Size, Words
from numatune.settings.model import NotBelow, Phase, Setting, SettingId, Unpopulated
from numatune.settings.targets import Cgroup, KernelFile

_CAN_EMPTY = (7, 3)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted tree. `kind` tells apart the settings of two trees: "" or "memory-"."""

    root: str
    v2: bool
    kind: str = ""


def direct(groups: Mapping[str, Group], rows: Rows) -> Iterator[Setting]:
    """Directories and files of the groups, outer ones first."""
    if not groups:
        return
    cgroups = rows.topology.cgroups
    main = Hierarchy(cgroups.cpuset_root, cgroups.version == 2)  # noqa: PLR2004  # cgroup v2
    if not main.v2:
        _refuse_half_sets(groups)
    memory = main
    if cgroups.memory_root != main.root:
        memory = Hierarchy(cgroups.memory_root, (cgroups.memory_version or cgroups.version) == 2, "memory-")  # noqa: PLR2004
    limited = [name for name, group in groups.items() if group.memory_max]
    if memory is main:
        controllers = "cpuset memory" if limited else "cpuset"
        yield from _places(main, list(groups), controllers, rows)
    else:
        bound = [name for name, group in groups.items() if group.cpus or group.mems or group.partition]
        yield from _places(main, bound, "cpuset", rows)
        if memory.root:
            yield from _places(memory, limited, "memory", rows)
    for name, group in groups.items():
        for key in asked_keys(group):
            yield _one(name, key, main, memory, rows)


def _refuse_half_sets(groups: Mapping[str, Group]) -> None:
    """v1: no task can enter before both are set, and a child must lie in a parent that has both."""
    problems: list[tuple[Path, Problem]] = []
    for name, group in groups.items():
        for key, other in (("cpus", "mems"), ("mems", "cpus")):
            if getattr(group, key) and not getattr(group, other):
                found = f"{key} without {other}: a v1 cpuset takes no task before both are set"
                problems.append(((name, key), Problem("", found, "cpus and mems")))
        outer = name.rpartition("/")[0]
        if outer and group.cpus and not (outer in groups and groups[outer].cpus):
            found = f"{name} lies in {outer}, which has no cpus and mems in this profile: on v1 a parent must have them"
            problems.append(((name,), Problem("", found, f"{outer} beside it, with cpus and mems")))
    if problems:
        raise Refused(*problems)


def _places(tree: Hierarchy, names: Sequence[str], controllers: str, rows: Rows) -> Iterator[Setting]:
    """The directories of `names` and of all above them, each after its parent hands the controllers on."""
    folders = sorted({"/".join(parts[:depth]) for parts in map(_parts, names) for depth in range(1, len(parts) + 1)})
    parents = {folder.rpartition("/")[0] for folder in folders}
    for folder in ["", *folders]:
        asked_by = next(name for name in names if f"{name}/".startswith(f"{folder}/") or not folder) if names else ""
        if folder:
            yield _folder(tree, folder, asked_by, rows)
        if tree.v2 and folder in parents:
            yield _controllers(tree, folder, asked_by, controllers, rows)


def _folder(tree: Hierarchy, folder: str, asked_by: str, rows: Rows) -> Setting:
    outer = folder.rpartition("/")[0]
    return Setting(
        id=_folder_id(tree, folder),
        target=Cgroup(f"{tree.root}/{folder}"),
        codec=Words(),
        want="here",
        phase=Phase.CGROUP,
        section="cpusets",
        source=rows.context.source("cpusets", asked_by),
        needs=_controllers_id(tree, outer) if tree.v2 else _folder_id(tree, outer) if outer else None,
    )


def _controllers(tree: Hierarchy, folder: str, asked_by: str, controllers: str, rows: Rows) -> Setting:
    path = f"{tree.root}/{folder}" if folder else tree.root
    return Setting(
        id=_controllers_id(tree, folder),
        target=KernelFile((f"{path}/cgroup.subtree_control",)),
        codec=Members(),
        want=controllers,
        phase=Phase.CGROUP,
        section="cpusets",
        source=rows.context.source("cpusets", asked_by),
        needs=_folder_id(tree, folder) if folder else None,
        guard=Unpopulated(path),
        note=FORGETS if rows.older(KEEPS_AFFINITY) else "",
    )


def _one(name: str, key: str, main: Hierarchy, memory: Hierarchy, rows: Rows) -> Setting:
    path = f"{main.root}/{name}"
    needs = _folder_id(main, name)
    match key:
        case "cpus" | "mems":
            plain, effective = f"cpuset.{key}", f"cpuset.{key}.effective" if main.v2 else f"cpuset.effective_{key}"
            everything = str(rows.cpus if key == "cpus" else rows.mems)
            codec = GroupSet(everything=everything) if main.v2 else CpuList()
            full = "rolled back to empty while tasks are inside, it holds everything instead (Linux before 7.3)"
            target = KernelFile((f"{path}/{plain}",), f"{path}/{effective}")
            return rows.row(
                name, key, target, codec, needs=needs, note=full if main.v2 and rows.older(_CAN_EMPTY) else ""
            )
        case "memory_max":
            return _memory(name, memory, rows)
        case _:
            if not main.v2:
                return rows.nothing(name, key, "cgroup v1 has no partitions; they came with cgroup v2")
            target = KernelFile((f"{path}/cpuset.cpus.partition",))
            return rows.row(name, key, target, Choice(), needs=needs, guard=rows.last_cpus(name))


def _memory(name: str, tree: Hierarchy, rows: Rows) -> Setting:
    offered = rows.topology.cgroups.controllers
    if not tree.root or (tree.v2 and offered and "memory" not in offered):
        return rows.nothing(name, "memory_max", "no mounted cgroup hierarchy has the memory controller")
    path = f"{tree.root}/{name}"
    limit, used, unlimited = ("memory.max", "memory.current", "max")
    if not tree.v2:
        limit, used, unlimited = ("memory.limit_in_bytes", "memory.usage_in_bytes", "-1")
    return rows.row(
        name,
        "memory_max",
        KernelFile((f"{path}/{limit}",)),
        Size(page=rows.topology.machine.page_size, unlimited=unlimited),
        needs=_folder_id(tree, name),
        guard=NotBelow(f"{path}/{used}"),
    )


def _folder_id(tree: Hierarchy, folder: str) -> SettingId:
    return SettingId(f"cpuset:{folder}/{tree.kind}cgroup")


def _controllers_id(tree: Hierarchy, folder: str) -> SettingId:
    return SettingId(f"cpuset:{folder}/{tree.kind}controllers")


def _parts(name: str) -> list[str]:
    return name.split("/")
