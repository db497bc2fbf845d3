"""Which rule an interrupt falls under, and which CPUs that rule means: pure, over the topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from numatune.cpus import CpuSet
from numatune.knobs.base import CpuSetField, Section, joined
from numatune.knobs.cpu_masks import beyond, lacking
from numatune.knobs.device_match import DeviceMatch
from numatune.settings.model import Source
from numatune.settings.targets import Nothing
from numatune.topology.model import Device, Interrupt, Node, Topology

Spread = Literal["core", "cpu", "none"]


def _where(value: Any) -> Any:
    if isinstance(value, str) and value not in ("local", "all"):
        try:
            return CpuSet.parse(value)
        except ValueError as error:
            raise ValueError(
                f"{value!r} is no place for interrupts; accepted: local, all, or CPUs like 0-3,8"
            ) from error
    return value


Where = Annotated[Literal["local", "all"] | CpuSetField, BeforeValidator(_where)]
"""The CPUs of the device's node, all online ones, or a set."""


class Match(DeviceMatch):
    """What a rule is about: every key that is given must hold. All but `class` are globs."""

    vector: str | None = None

    def interrupt(self, interrupt: Interrupt) -> bool:
        """Whether one of that device's interrupts is meant."""
        return self.vector is None or fnmatchcase(interrupt.name, self.vector)

    def cannot_tell(self, interrupt: Interrupt) -> bool:
        """Whether only its name would tell, and it has none: the link is down, or nobody uses it yet."""
        return not interrupt.name and not self.interrupt(interrupt)


class Rule(Section):
    """Interrupts and the CPUs that serve them.

    cpus       by default all when `away_from` is given, else the interrupts are left alone, by later rules too
    away_from  CPUs to keep them off
    spread     core: vector N on the N-th core, round and round; cpu: the same CPU by CPU; none: each on the whole set
    """

    match: Match
    cpus: Where | None = None
    away_from: CpuSetField = Field(default_factory=CpuSet)
    spread: Spread = "none"
    why: str = ""
    optional: bool | None = None

    @property
    def where(self) -> Literal["local", "all"] | CpuSet | None:
        """`cpus` with its default; None: not managed."""
        return "all" if self.cpus is None and "away_from" in self.model_fields_set else self.cpus


@dataclass(frozen=True, slots=True)
class Claim:
    """The interrupts of one device that fall under one rule, by MSI index; `nameless`: those that may, or not."""

    device: Device
    interrupts: tuple[Interrupt, ...]
    nameless: tuple[Interrupt, ...] = ()


def claims(rules: Sequence[Rule], topology: Topology) -> tuple[tuple[Claim, ...], ...]:
    """For every rule what it gets: an interrupt goes to the first rule that matches, or that may match.

    Else a later rule would move those of a link that goes down, and the first would move them back.
    """
    by_device: dict[str, list[Interrupt]] = {}
    for interrupt in topology.interrupts:
        by_device.setdefault(interrupt.device, []).append(interrupt)
    claimed: list[list[Claim]] = [[] for _ in rules]
    for device in topology.devices:
        left = sorted(by_device.get(device.address, ()), key=lambda interrupt: interrupt.index)
        for rule, got in zip(rules, claimed, strict=True):
            if left and rule.match.device(device):
                taken = tuple(interrupt for interrupt in left if rule.match.interrupt(interrupt))
                nameless = tuple(interrupt for interrupt in left if rule.match.cannot_tell(interrupt))
                gone = {interrupt.number for interrupt in (*taken, *nameless)}
                left = [interrupt for interrupt in left if interrupt.number not in gone]
                if taken or nameless:
                    got.append(Claim(device, taken, nameless))
    return tuple(map(tuple, claimed))


def unmatched(rule: Rule, topology: Topology) -> str:
    """Why a rule got nothing, as a phrase."""
    devices = {device.address for device in topology.devices if rule.match.device(device)}
    interrupts = [interrupt for interrupt in topology.interrupts if interrupt.device in devices]
    if any(rule.match.interrupt(interrupt) for interrupt in interrupts):
        return f"earlier rules take every interrupt that matches {rule.match}"
    if devices and not interrupts:
        return f"what matches {rule.match} has no message-signalled interrupts"
    return f"no interrupt matches {rule.match}"


@dataclass(frozen=True, slots=True)
class Place:
    """CPUs that may serve a device, never empty; `note` says what was left out or stands in."""

    cpus: CpuSet
    note: str = ""


@dataclass(frozen=True, slots=True)
class NoPlace:
    """There are none."""

    status: Literal["not-applicable", "unsupported"]
    reason: str

    def target(self, source: Source | None) -> Nothing:
        """Of the row that says so; `source`: the line that asks for what this host lacks."""
        return Nothing(self.status, lacking(self.reason, source if self.status == "unsupported" else None))


def place(
    where: Literal["local", "all"] | CpuSet | None, device: Device, topology: Topology, away_from: CpuSet | None = None
) -> Place | NoPlace:
    """The CPUs that a rule means for a device."""
    match where:
        case None:
            return NoPlace("not-applicable", "left alone, as its rule names no cpus")
        case "all":
            return usable(topology.cpus.online, topology, away_from)
        case "local":
            found = _local(device, topology)
            if isinstance(found, NoPlace):
                return found
            kept = usable(found.cpus, topology, away_from)
            return kept if isinstance(kept, NoPlace) else Place(kept.cpus, joined(found.note, kept.note))
        case asked:
            return usable(asked, topology, away_from)


def usable(asked: CpuSet, topology: Topology, away_from: CpuSet | None = None) -> Place | NoPlace:
    """`asked` without offline, isolated and nohz_full CPUs, which serve no interrupts, and without `away_from`.

    A CPU that is isolated and nohz_full too is named once, as isolated.
    """
    cpus = topology.cpus
    if missing := beyond(asked, topology):
        return NoPlace("unsupported", missing)
    out = {
        "offline": asked - cpus.online,
        "isolated": asked & cpus.isolated,
        "nohz_full": asked & cpus.nohz_full - cpus.isolated,
    }
    kept = (asked & cpus.online) - cpus.isolated - cpus.nohz_full - (away_from or CpuSet())
    if kept:
        left_out = [name for name, some in out.items() if some]
        return Place(kept, f"{' and '.join(left_out)} CPUs left out" if left_out else "")
    gone = {**out, "kept free": asked & (away_from or CpuSet())}
    reasons = (f"{some} {name}" for name, some in gone.items() if some)
    return NoPlace("unsupported", joined(f"no CPU is left of {asked or 'an empty set'}", *reasons))


def slots(cpus: CpuSet, spread: Spread, topology: Topology) -> tuple[CpuSet, ...]:
    """What vector 0, 1, 2 ... of a device is set to, starting again after the last."""
    if spread == "none":
        return (cpus,)
    cores = [core.cpus & cpus for core in topology.cpus.cores]
    strays = cpus - CpuSet(cpu for core in cores for cpu in core)
    cores = sorted([core for core in (*cores, *(CpuSet([cpu]) for cpu in strays)) if core], key=lambda core: core.first)
    if spread == "core":
        return tuple(cores)
    threads = sorted((rank, cpu) for core in cores for rank, cpu in enumerate(core))
    return tuple(CpuSet([cpu]) for _, cpu in threads)


def _local(device: Device, topology: Topology) -> Place | NoPlace:
    """The CPUs of the device's node, or of the nearest node that has any. Where one node has all, nothing is far."""
    with_cpus = [node for node in topology.nodes if node.cpus]
    if len(with_cpus) <= 1:
        return Place(topology.cpus.online)
    if device.resolved_node is None:
        return NoPlace("not-applicable", f"the node of {device.address} is unknown; name it under devices:")
    node = topology.node(device.resolved_node)
    if node is not None and node.cpus:
        return Place(node.cpus)
    near = _nearest(node.distances if node else {}, with_cpus)
    if near is None:
        return NoPlace("not-applicable", f"node {device.resolved_node} has no CPUs, and no distance tells the nearest")
    return Place(near.cpus, f"node {device.resolved_node} has no CPUs; node {near.id} is the nearest that has")


def _nearest(distances: Mapping[int, int], nodes: Sequence[Node]) -> Node | None:
    """Of equally near ones the lowest."""
    known = [node for node in nodes if node.id in distances]
    return min(known, key=lambda node: (distances[node.id], node.id), default=None)
