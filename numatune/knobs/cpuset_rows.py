"""What all settings of the section ``cpusets:`` have in common, whoever owns the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numatune.cpus import CpuSet
from numatune.knobs import workqueues
from numatune.knobs.base import Asked, Context, joined
from numatune.knobs.cpuset_groups import Group, parent_of
from numatune.settings.codecs import AnyCodec, Size, Text
from numatune.settings.model import Guard, Impact, Phase, Refuse, Setting, SettingId
from numatune.settings.targets import Nothing, Target
from numatune.topology.model import Topology

KEYS = ("mems", "cpus", "memory_max", "partition")
"""In the order of writing: pages are bound before tasks run elsewhere, a partition needs its CPUs."""


KEEPS_AFFINITY = (6, 2)
"""Since then tasks keep the affinity that they gave themselves when cpuset is switched on (systemd issue 23748)."""

MOVES = "pages of running tasks move to these nodes, and a rollback to more nodes moves none back"

FORGETS = "before Linux 6.2 tasks forget the CPU affinity that they gave themselves when cpuset is switched on"


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes settings of groups, by name, of one profile and host."""

    groups: Mapping[str, Group]
    context: Context

    @property
    def topology(self) -> Topology:
        """The host."""
        return self.context.topology

    @property
    def cpus(self) -> CpuSet:
        """All that a group could be given."""
        return self.topology.cpus.online

    @property
    def mems(self) -> CpuSet:
        """All that a group could be given."""
        return memory_nodes(self.topology)

    def older(self, version: tuple[int, int]) -> bool:
        """Whether the kernel is one before `version`; an unknown one is not."""
        numbers = self.topology.machine.kernel.split("-")[0].split(".")[:2]
        return bool(numbers) and all(map(str.isdecimal, numbers)) and tuple(map(int, numbers)) < version

    def row(self, name: str, key: str, target: Target, codec: AnyCodec, **more: Any) -> Setting:
        """The setting of one key of a group. `more`: fields of Setting beside those that follow from name and key."""
        asked = self._asked(name, key)
        after = (*more.pop("after", ()), *self._before(name, key))
        if key == "partition" and asked.value == "isolated":
            more["companions"] = (workqueues.watched(self.topology),)
        if key == "mems" and self._moves_pages(asked.value):
            more["note"] = joined(MOVES, more.get("note", ""))
        return Setting(
            id=SettingId(f"cpuset:{name}/{key}"),
            target=target,
            codec=codec,
            want=str(asked.value),
            phase=Phase.CGROUP,
            section="cpusets",
            source=self.context.source("cpusets", name, key),
            why=asked.why,
            optional=asked.optional,
            impact_in_use=Impact.DISRUPTS,
            after=after,
            inside=self._inside(name, key),
            **more,
        )

    def _moves_pages(self, mems: CpuSet) -> bool:
        """Whether pages of tasks may lie elsewhere, and the kernel moves them: v1 leaves them (memory_migrate)."""
        return self.topology.cgroups.version == 2 and bool(self.mems - mems)  # noqa: PLR2004  # cgroup v2

    def nothing(self, name: str, key: str, reason: str) -> Setting:
        """The row of a key that this host has no place for."""
        asked = self._asked(name, key)
        return Setting(
            id=SettingId(f"cpuset:{name}/{key}"),
            target=Nothing("unsupported", reason),
            codec=Size(page=self.topology.machine.page_size) if key == "memory_max" else Text(),
            want=str(asked.value),
            phase=Phase.CGROUP,
            section="cpusets",
            source=self.context.source("cpusets", name, key),
            why=asked.why,
            optional=asked.optional,
        )

    def nowhere(self) -> Iterator[Setting]:
        """Rows for a host on which no hierarchy has cpuset."""
        mode = self.topology.cgroups.mode
        reason = (
            "no control groups are mounted" if mode == "none" else f"no mounted cgroup hierarchy ({mode}) has cpuset"
        )
        for name, group in self.groups.items():
            for key in asked_keys(group):
                yield self.nothing(name, key, reason)

    def last_cpus(self, name: str) -> Guard | None:
        """A partition that would, with those beside it, take every online CPU away from the rest of the system."""
        if not self.groups[name].exclusive:
            return None
        taken = CpuSet()
        for group in self.groups.values():
            if group.exclusive:
                taken |= group.members("cpus")
        if self.cpus - taken:
            return None
        return Refuse(f"partitions over {taken} leave no CPU of {self.cpus} to the rest of the system")

    def _asked(self, name: str, key: str) -> Asked[Any]:
        asked: Asked[Any] = getattr(self.groups[name], key)
        return asked

    def _before(self, name: str, key: str) -> tuple[SettingId, ...]:
        asked = asked_keys(self.groups[name])
        place = asked.index(key)
        earlier = [SettingId(f"cpuset:{name}/{asked[place - 1]}")] if place else []
        if key == "partition" and (
            outer := self._outer(name, key)
        ):  # an outer partition first, or the inner is invalid
            earlier.append(outer)
        return tuple(earlier)

    def _inside(self, name: str, key: str) -> SettingId | None:
        return self._outer(name, key) if key in ("cpus", "mems") else None

    def _outer(self, name: str, key: str) -> SettingId | None:
        outer = parent_of(name)
        if outer in self.groups and getattr(self.groups[outer], key) is not None:
            return SettingId(f"cpuset:{outer}/{key}")
        return None


def asked_keys(group: Group) -> tuple[str, ...]:
    """The keys that are given, in the order of writing."""
    return tuple(key for key in KEYS if getattr(group, key) is not None)


def memory_nodes(topology: Topology) -> CpuSet:
    """Nodes that have memory; node 0 on a kernel without NUMA, whose cpusets know that one."""
    return CpuSet(node.id for node in topology.nodes if node.kind in ("cpu+mem", "memory-only")) or CpuSet([0])
