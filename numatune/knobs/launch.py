"""launch: how `numatune run` places the processes that it starts.

Apply writes the policy to one file, and behind it what plain starts get, worked out for this host and for the profile's
cpusets. Processes that run stay as they are. docs/launching.md tells each word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from numatune.cpus import CpuSet
from numatune.errors import LaunchError, Problem
from numatune.knobs.base import Asked, Context, CpuSetField, Knob, Path, Refused, Section
from numatune.knobs.cpu_masks import lacking, unusable
from numatune.knobs.node_ids import not_here, without_memory
from numatune.launch import compiled, wording
from numatune.launch.policy import NICS, CpuMode, MemoryMode, OnUnknown, Policy, Smt, Thp
from numatune.launch.quick import FILE
from numatune.settings.codecs import Text
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.targets import Nothing, OwnedFile
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)

_Step = Literal["preferred", "preferred-many", "bind", "local", "interleave", "weighted-interleave", "cpu-only", "none"]


def _group(text: str) -> str:
    if not text or text.startswith("-") or ".." in text.split("/") or any(char.isspace() for char in text):
        raise ValueError(f"{text!r} is no control group; accepted: a path below /sys/fs/cgroup, without blanks")
    return text


Cores = Annotated[int, Field(ge=0)]
Node = Annotated[int, Field(ge=0)]
Group = Annotated[str, AfterValidator(_group)]


class RankSection(Section):
    """What is written out for one rank: ``{node: 0}``, ``{cpus: 48-63}``.

    device  address, UUID, or index of a visible one
    node    where it runs; its memory goes there too
    cpus    exactly these, and nobody else's in exclusive mode
    memory  nodes for its memory
    """

    device: str | None = None
    node: Node | None = None
    cpus: CpuSetField | None = None
    memory: CpuSetField | None = None

    @model_validator(mode="after")
    def _says_something(self) -> RankSection:
        if self.model_dump(exclude_none=True):
            return self
        raise ValueError("nothing is said of the rank; accepted: device, node, cpus, memory")


class LaunchSection(Section):
    """``{cpu: exclusive, reserve_cores: 2, memory: preferred, ranks: {4: {cpus: 48-63}}}``.

    cpu            node, exclusive, l3, socket, list, none
    cpus           with cpu: list, for ranks that have none of their own
    smt            keep both threads of a core, or drop the second
    reserve_cores  first cores of each node that are left to the system and to interrupts
    memory         preferred, preferred-many, bind, local, interleave, weighted-interleave, none
    memory_nodes   where memory goes, instead of to the device's node
    fallback       what is tried when the kernel refuses memory; cpu-only and none end it
    strict         anything but what is asked for is an error, and the command does not start
    on_unknown     warn or fail where nobody knows a device's node
    widen          start from the CPUs of the cpuset, not from the inherited affinity
    cgroup         a group to join first
    thp            keep, madvise, never: transparent hugepages of the process
    shm            keep, interleave, interleave:NODES: new files of /dev/shm, in a container
    env            variables; cores and cpus are counts; nics: true names the nearest adapters
    ranks          what is written out by rank
    """

    cpu: Asked[CpuMode] | None = None
    cpus: Asked[CpuSetField] | None = None
    smt: Asked[Smt] | None = None
    reserve_cores: Asked[Cores] | None = None
    memory: Asked[MemoryMode] | None = None
    memory_nodes: Asked[CpuSetField] | None = None
    fallback: Asked[list[_Step]] | None = None
    strict: Asked[bool] | None = None
    on_unknown: Asked[OnUnknown] | None = None
    widen: Asked[bool] | None = None
    cgroup: Asked[Group] | None = None
    thp: Asked[Thp] | None = None
    shm: Asked[str] | None = None
    env: dict[str, str | int | bool] = Field(default_factory=dict)
    ranks: dict[str, RankSection] = Field(default_factory=dict)


def _settings(section: LaunchSection, context: Context) -> tuple[Setting, ...]:
    problems = list(_problems(section))
    if problems:
        raise Refused(*problems)
    policy = _policy(section, context)
    whys = (getattr(section, key) for key in type(section).model_fields)
    return (
        *_elsewhere(section, policy, context),
        Setting(
            id=SettingId(wording.SETTING),
            target=OwnedFile(FILE),
            codec=Text(),
            want=wording.text(policy, compiled.lines(context.topology, policy, _cpusets(context))),
            phase=Phase.FILES,
            section="launch",
            source=context.source("launch"),
            why="; ".join(dict.fromkeys(one.why for one in whys if isinstance(one, Asked) and one.why)),
            impact=Impact.NEW_PROCESSES,
        ),
    )


def _elsewhere(section: LaunchSection, policy: Policy, context: Context) -> Iterator[Setting]:
    """One row for each set of CPUs or nodes that this host has not: who starts with it is placed elsewhere, or not."""
    for path, asked, wrong in _written(section, policy, context.topology):
        if wrong:
            source = context.source("launch", *path)
            yield Setting(
                id=SettingId(f"launch:{'/'.join(path)}"),
                target=Nothing("unsupported", lacking(wrong, source)),
                codec=Text(),
                want=asked,
                phase=Phase.FILES,
                section="launch",
                source=source,
            )


def _written(section: LaunchSection, policy: Policy, topology: Topology) -> Iterator[tuple[Path, str, str]]:
    """Where CPUs or nodes are written out, the text, and what this host has not of them."""
    cpus: dict[Path, CpuSet | None] = {("cpus",): policy.cpus}
    cpus |= {("ranks", rank, "cpus"): one.cpus for rank, one in section.ranks.items()}
    yield from ((path, str(asked), unusable(asked, topology)) for path, asked in cpus.items() if asked)
    for rank, one in section.ranks.items():
        if one.node is not None:
            yield ("ranks", rank, "node"), str(one.node), not_here(one.node, topology)
    nodes: dict[Path, CpuSet | None] = {("memory_nodes",): policy.memory_nodes, ("shm",): policy.shm_nodes}
    nodes |= {("ranks", rank, "memory"): one.memory for rank, one in section.ranks.items()}
    for path, asked in nodes.items():
        if asked:
            without = (why for node in asked if (why := without_memory(node, topology)))
            yield path, str(asked), next(without, "")


def _cpusets(context: Context) -> Iterator[tuple[CpuSet, CpuSet]]:
    """CPUs and memory nodes of the profile's groups: what runs in one may have no more."""
    wanted = {str(one.id): one.want for one in context.made if one.section == "cpusets" and one.want}
    every = CpuSet(node.id for node in context.topology.nodes if node.kind in {"cpu+mem", "memory-only"})
    for key, cpus in wanted.items():
        if key.endswith("/cpus"):
            mems = wanted.get(f"{key.removesuffix('/cpus')}/mems")
            yield CpuSet.parse(cpus), CpuSet.parse(mems) if mems else every


def _problems(section: LaunchSection) -> Iterator[tuple[Path, Problem]]:
    for rank in section.ranks:
        if not (rank.isascii() and rank.isdigit()):
            yield ("ranks", rank), Problem("", f"{rank!r} is no rank", "0, 1, ...")
    for name, value in section.env.items():
        if name == NICS and not isinstance(value, bool):
            yield ("env", name), Problem("", repr(value), "true or false")
        elif not _VARIABLE.match(name):
            yield ("env", name), Problem("", f"{name!r} is no name of a variable", "letters, digits and _")
        elif "\n" in str(value):
            yield ("env", name), Problem("", "a value of several lines", "one line")
    if section.cpu and section.cpu.value == "list" and not section.cpus and not section.ranks:
        yield ("cpu",), Problem("", "list, and no list of CPUs", hint="cpus: or ranks: beside it")


def _policy(section: LaunchSection, context: Context) -> Policy:
    """The section as a policy; devices of which the operator said the node travel with it."""
    given = {key: asked.value for key, asked in section if isinstance(asked, Asked)}
    told = [(key, _spelled(value)) for key, value in given.items() if key in wording.KEYS]
    told += [("env", f"{name}={_text(value)}") for name, value in section.env.items() if name != NICS]
    told += [("rank", f"{rank} {_rank(one)}") for rank, one in section.ranks.items()]
    overridden = (one for one in context.topology.devices if one.resolved_by == "override")
    told += [("device", f"{one.address} {one.resolved_node}") for one in overridden]
    try:
        policy = wording.read(told)
    except LaunchError as error:
        problem = error.problems[0]
        raise Refused(((problem.where,), replace(problem, where=""))) from error
    return replace(policy, nics=bool(section.env.get(NICS)))


def _rank(one: RankSection) -> str:
    told = {"device": one.device, "node": one.node, "cpus": one.cpus, "memory": one.memory}
    return " ".join(f"{key}={value}" for key, value in told.items() if value is not None)


def _text(value: str | int | bool) -> str:  # noqa: FBT001  # as YAML reads it
    return str(value).lower() if isinstance(value, bool) else str(value)


def _spelled(value: object) -> str:
    match value:
        case bool():
            return wording.YES if value else wording.NO
        case list():
            return ",".join(map(str, value))
        case CpuSet() | int() | str():
            return str(value)
    raise TypeError(f"{value!r} has no spelling in a policy")


KNOB: Final = Knob(
    name="launch",
    model=LaunchSection,
    reads=frozenset({TopologySection.DEVICES}),
    settings=_settings,
)
