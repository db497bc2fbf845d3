"""The section ``cpusets:``: a control group by name, and what it may use."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, RootModel, model_validator

from numatune.cpus import CpuSet
from numatune.knobs.base import Asked, CpuSetField, Section
from numatune.settings.codecs import bytes_of

UNIT_SUFFIXES = (".slice", ".service", ".scope")
"""Units that have a cgroup."""

_PART = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.:@\\-]+", re.ASCII)
_RESERVED = ("cgroup.", "cpuset.", "memory.")
_SMALLEST = 1 << 20


def group_key(text: str) -> str:
    """One spelling for a group's name, without slashes around it. Raises ValueError where it can be no group."""
    name = text.strip("/")
    for part in name.split("/"):
        if not _PART.fullmatch(part) or part.startswith(_RESERVED):
            raise ValueError(f"{text!r} is no control group; accepted: a unit like inference.slice, or a path like a/b")
    return name


def _size(value: Any) -> str:
    """Bytes as decimal text, or ``max``. An expression gives an int, a text may have one unit letter."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r} is no size; accepted: max, 180G, or bytes")  # noqa: TRY004  # what pydantic collects
    size = bytes_of(str(value))
    if size is not None and size < _SMALLEST:
        raise ValueError(f"{value} is {size} bytes, in which nothing runs; accepted: max, or 1M and more (180G)")
    return "max" if size is None else str(size)


def _some(value: CpuSet) -> CpuSet:
    if not value:
        raise ValueError(
            "the set is empty, which would leave nothing to run on; accepted: at least one member, or null"
        )
    return value


Members = Annotated[CpuSetField, AfterValidator(_some)]
MemorySize = Annotated[str, BeforeValidator(_size)]
Partition = Literal["member", "root", "isolated"]


class Group(Section):
    """What one control group may use; what is left out stays as it is.

    cpus, mems   CPUs and memory nodes
    memory_max   a limit beyond which tasks are killed: max, 180G, bytes
    partition    root takes the CPUs away from all other groups, isolated takes the scheduler's balancing away too
    """

    cpus: Asked[Members] | None = None
    mems: Asked[Members] | None = None
    memory_max: Asked[MemorySize] | None = None
    partition: Asked[Partition] | None = None

    @model_validator(mode="after")
    def _sensible(self) -> Group:
        if not any((self.cpus, self.mems, self.memory_max, self.partition)):
            raise ValueError("nothing is asked of this group; accepted: cpus, mems, memory_max, partition")
        if self.exclusive and self.cpus is None:
            raise ValueError("a partition takes CPUs of its own; accepted: cpus beside partition")
        return self

    def members(self, key: Literal["cpus", "mems"]) -> CpuSet:
        """The set that is asked for, empty when none is."""
        asked = self.cpus if key == "cpus" else self.mems
        return CpuSet() if asked is None else asked.value

    @property
    def exclusive(self) -> bool:
        """Whether its CPUs are taken away from all others."""
        return self.partition is not None and self.partition.value != "member"


class Cpusets(RootModel[dict[str, Group]]):
    """The section ``cpusets:``, groups by name."""

    model_config = ConfigDict(strict=True, frozen=True)


def parent_of(name: str) -> str:
    """The group that `name` lies in, "" for the root: of ``a/b`` it is a, of ``a-b.slice`` it is a.slice."""
    if "/" in name:
        return name.rpartition("/")[0]
    stem = name.removesuffix(".slice")
    return f"{stem.rpartition('-')[0]}.slice" if stem != name and "-" in stem.strip("-") else ""
