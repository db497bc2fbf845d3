"""expect: what this host is taken to be. Checked before anything is tuned, and never changed.

A node that lost its memory modules, a link that trained down or a device that is gone is found here, before values
are worked out for a host that is not the one that was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from numatune.knobs.base import Asked, Context, Knob, Section, wanted
from numatune.knobs.expect_devices import DeviceGroup, device_settings
from numatune.knobs.expect_limits import Bytes, Count, Limit, ModuleVersion, Smt
from numatune.settings.codecs import Tally, Version
from numatune.settings.measures import Measure, Memory, Nodes, NodesPerPackage, OnlineCpus, Threads
from numatune.settings.model import Phase, Setting
from numatune.settings.targets import Fact, Trait
from numatune.topology.model import Section as TopologySection

_MODULE: Final = re.compile(r"[A-Za-z0-9_-]{1,56}", re.ASCII)
_GROUP: Final = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)

_FIRMWARE: Final = "a setting of the firmware (NPS, SNC), or what a guest was given"
_MODULES: Final = "a memory module is missing, has failed, or is in another node's slot"
_SMT: Final = "CPUs without SMT, a setting of the firmware, nosmt on the command line, or somebody wrote smt/control"
_OFFLINE: Final = "CPUs are offline, or it is another machine"
_LOADED: Final = "another version is loaded"


def _module(name: str) -> str:
    if not _MODULE.fullmatch(name):
        raise ValueError(f"{name!r} is no module; accepted: a name like nvidia or mlx5_core")
    return name.replace("-", "_")


def _group(name: str) -> str:
    if not _GROUP.fullmatch(name):
        raise ValueError(f"{name!r} is no name; accepted: letters, digits, _ and -")
    return name


class NodesExpected(Section):
    """How many nodes: ``{cpu: 8, per_package: 4}``.

    cpu, cpu_only, memory, memory_only, all   as in expressions: `cpu` have CPUs and memory
    per_package   nodes with CPUs in each package: 4 for NPS4, 2 for SNC2; 0 where one node spans packages (NPS0)
    """

    all: Asked[Count] | None = None
    cpu: Asked[Count] | None = None
    cpu_only: Asked[Count] | None = None
    memory: Asked[Count] | None = None
    memory_only: Asked[Count] | None = None
    per_package: Asked[Count] | None = None


class MemoryExpected(Section):
    """How much memory: ``{total: ">= 1000G", balance: 10}``. The kernel has a few percent less than is plugged in.

    total     of the host
    per_node  of the smallest node that has CPUs
    balance   by how many percent of the largest node with CPUs the smallest may have less
    """

    total: Asked[Bytes] | None = None
    per_node: Asked[Bytes] | None = None
    balance: Asked[Annotated[int, Field(ge=0, le=100)]] | None = None


class Expect(Section):
    """``{nodes: {cpu: 2}, memory: {balance: 10}, devices: {gpu: {match: {class: accelerator}, count: 8}}}``.

    cpus     CPUs that run
    smt      on: several threads of a core run; off: one, also where the CPUs have no more; or how many
    drivers  versions of modules as /sys/module has them: ``{nvidia: ">= 550.54"}``
    """

    cpus: Asked[Count] | None = None
    smt: Asked[Smt] | None = None
    nodes: NodesExpected | None = None
    memory: MemoryExpected | None = None
    devices: dict[Annotated[str, AfterValidator(_group)], DeviceGroup | None] = Field(default_factory=dict)
    drivers: dict[Annotated[str, AfterValidator(_module)], Asked[ModuleVersion] | None] = Field(default_factory=dict)


def settings(section: Expect, context: Context) -> tuple[Setting, ...]:
    """One setting for each thing that is expected; of devices one for each of them where it is about each."""
    made = (
        *_processors(section, context),
        *_nodes(section.nodes or NodesExpected(), context),
        *_memory(section.memory or MemoryExpected(), context),
        *(one for name, group in section.devices.items() if group for one in device_settings(name, group, context)),
        *_drivers(section, context),
    )
    return tuple(replace(setting, home="none") for setting in made)


def _processors(section: Expect, context: Context) -> Iterator[Setting]:
    if section.cpus:
        yield _counted(context, ("cpus",), section.cpus, OnlineCpus(), cause=_OFFLINE)
    if section.smt:
        yield _counted(context, ("smt",), section.smt, Threads(), cause=_SMT, unit="threads")


def _nodes(section: NodesExpected, context: Context) -> Iterator[Setting]:
    measures: dict[str, Measure] = {
        "all": Nodes("all"),
        "cpu": Nodes("cpu"),
        "cpu_only": Nodes("cpu_only"),
        "memory": Nodes("memory"),
        "memory_only": Nodes("memory_only"),
        "per_package": NodesPerPackage(),
    }
    for key, measure in measures.items():
        if asked := getattr(section, key):
            yield _counted(context, ("nodes", key), asked, measure, cause=_FIRMWARE)


def _memory(section: MemoryExpected, context: Context) -> Iterator[Setting]:
    if section.total:
        yield _counted(context, ("memory", "total"), section.total, Memory("total"), cause=_MODULES, unit="bytes")
    if section.per_node:
        yield _counted(
            context, ("memory", "per_node"), section.per_node, Memory("smallest_node"), cause=_MODULES, unit="bytes"
        )
    if section.balance:
        yield wanted(
            context,
            ("expect", "memory", "balance"),
            section.balance,
            want=str(section.balance.value),
            target=Trait(Memory("imbalance"), cause=_MODULES),
            codec=Tally("<=", "%"),
            phase=Phase.EXPECT,
        )


def _drivers(section: Expect, context: Context) -> Iterator[Setting]:
    for name, asked in section.drivers.items():
        if asked:
            yield wanted(
                context,
                ("expect", "drivers", name),
                asked,
                want=asked.value.text,
                target=Fact(
                    (f"/sys/module/{name}/version",),
                    absent=f"{name} is not loaded, or tells no version",
                    cause=_LOADED,
                ),
                codec=Version(asked.value.op),
                phase=Phase.EXPECT,
            )


def _counted(  # noqa: PLR0913  # where it was asked, what, what is measured, what is the matter else, in what unit
    context: Context,
    below: tuple[str, ...],
    asked: Asked[Limit],
    measure: Measure,
    *,
    cause: str,
    unit: Literal["", "bytes", "threads"] = "",
) -> Setting:
    return wanted(
        context,
        ("expect", *below),
        asked,
        want=asked.value.text,
        target=Trait(measure, cause=cause),
        codec=Tally(asked.value.op, unit),
        phase=Phase.EXPECT,
    )


KNOB: Final = Knob(
    name="expect",
    model=Expect,
    reads=frozenset({TopologySection.NODES, TopologySection.DEVICES, TopologySection.LINKS}),
    settings=settings,
)
