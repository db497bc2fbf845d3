"""Cpusets: which CPUs, memory nodes and how much memory a control group has, on cgroup v2 and v1.

Where systemd is process 1 and cpuset is in the unified tree, systemd owns that tree and units get properties. Elsewhere
(a container, another init, cpuset on v1) cgroups are made and written directly. No process is ever moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numatune.cpus import CpuSet
from numatune.errors import Problem
from numatune.knobs.base import Context, Knob, Path, Refused
from numatune.knobs.cgroup_owner import owner_of
from numatune.knobs.cpuset_groups import UNIT_SUFFIXES, Cpusets, Group, group_key, parent_of
from numatune.knobs.cpuset_rows import Rows, memory_nodes
from numatune.knobs.cpusets_direct import direct
from numatune.knobs.cpusets_systemd import by_unit
from numatune.settings.model import Setting
from numatune.topology.model import Section, Topology

Groups = Mapping[str, Group]
Wrong = tuple[Path, Problem]


def settings(section: Cpusets, context: Context) -> tuple[Setting, ...]:
    """What each group needs to exist and to be as asked, outer groups first."""
    groups = dict(sorted(section.root.items(), key=lambda item: (item[0].count("/"), item[0])))
    problems = [
        problem for name, group in groups.items() for problem in _problems(name, group, groups, context.topology)
    ]
    if problems:
        raise Refused(*problems)
    rows = Rows(groups, context)
    if not context.topology.cgroups.version:
        return tuple(rows.nowhere())
    if context.topology.machine.systemd:
        units = {name: group for name, group in groups.items() if name.endswith(UNIT_SUFFIXES)}
        bare = {name: group for name, group in groups.items() if name not in units}
        return (*by_unit(units, rows), *direct(bare, rows))
    return tuple(direct(groups, rows))


def _problems(name: str, group: Group, groups: Groups, topology: Topology) -> Iterator[Wrong]:
    if owner := owner_of(name):
        yield (name,), Problem("", f"{name} belongs to {owner.name}, which writes it again", hint=owner.use)
    if topology.machine.systemd and topology.cgroups.version == 2:  # noqa: PLR2004  # cgroup v2
        yield from _no_unit(name)
    outer = groups.get(parent_of(name), Group.model_construct())
    yield from _beyond((name, "cpus"), group.members("cpus"), topology.cpus.online, "CPU", "online")
    yield from _beyond((name, "cpus"), group.members("cpus"), outer.members("cpus"), "CPU", "in its parent")
    yield from _beyond((name, "mems"), group.members("mems"), memory_nodes(topology), "node", "with memory")
    yield from _beyond((name, "mems"), group.members("mems"), outer.members("mems"), "node", "in its parent")


def _no_unit(name: str) -> Iterator[Wrong]:
    """A tree that systemd owns: what is no unit there loses its cpuset files when some unit restarts."""
    if name == "-.slice":
        found, accepted = "the root of the tree has no cpuset of its own", "system.slice, or a slice of your own"
        yield (name,), Problem("", found, accepted)
    elif "/" in name or not name.endswith(UNIT_SUFFIXES):
        last = name.rpartition("/")[2]
        unit = last if last.endswith(UNIT_SUFFIXES) else f"{name.replace('/', '-')}.slice"
        yield (
            (name,),
            Problem("", f"systemd owns the control groups here, and {name} is no unit", f"a unit, like {unit}"),
        )


def _beyond(path: Path, asked: CpuSet, there: CpuSet, what: str, which: str) -> Iterator[Wrong]:
    """Members that are not `there`. Where nothing is known of that, nothing is wrong."""
    missing = asked - there
    if missing and there:
        plural = "s" if len(missing) > 1 else ""
        yield path, Problem("", f"{asked} has {what}{plural} {missing}, not {which}", str(there))


KNOB = Knob(
    name="cpusets",
    model=Cpusets,
    reads=frozenset({Section.MACHINE, Section.CPUS, Section.NODES, Section.CGROUPS}),
    settings=settings,
    key=group_key,
)
