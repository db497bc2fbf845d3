"""net_queues: which CPUs take over received packets (RPS), and which send through which queue (XPS).

An interface with a queue and an interrupt for each CPU needs no RPS, which costs an interrupt between CPUs for each
batch of packets; the interrupts themselves are placed under irq:. Documentation/networking/scaling.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from numatune.cpus import CpuSet
from numatune.knobs.base import Asked, Context, CpuSetField, Knob, Path, Section, joined, wanted
from numatune.knobs.cpu_masks import width
from numatune.knobs.device_match import DeviceMatch
from numatune.knobs.irq_rules import NoPlace, Place, Spread, place, slots
from numatune.settings.codecs import CpuMask
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import KernelFile
from numatune.topology.model import Device, Topology
from numatune.topology.model import Section as TopologySection
from numatune.topology.queues import Queues

Way = Literal["rps", "xps"]
_ONE_QUEUE: Final = "an interface with one transmit queue has no XPS"


def _where(value: Any) -> Any:
    if isinstance(value, str) and value not in ("off", "local", "all"):
        try:
            return CpuSet.parse(value)
        except ValueError as error:
            raise ValueError(f"{value!r} is no place; accepted: off, local, all, or CPUs like 0-3,8") from error
    return value


_SCHEMA: Final = {
    "description": "off, local (the CPUs of the device's node), all, or a set: a list like 0-3,8, a number, a list",
    "type": ["string", "integer", "array", "boolean"],
    "items": {"type": ["string", "integer"]},
}
"""An editor that reads YAML 1.1 takes off for a boolean."""

Where = Annotated[Literal["off", "local", "all"] | CpuSetField, BeforeValidator(_where), WithJsonSchema(_SCHEMA)]
"""None, the CPUs of the device's node, all online ones, or a set."""


class QueueRule(Section):
    """Interfaces and their CPUs; what a rule does not name is left to later ones.

    spread  of XPS. core: queue N is for the N-th core, round and round; cpu: CPU by CPU; none: each for the whole set
    """

    match: DeviceMatch
    rps: Where | None = None
    xps: Where | None = None
    spread: Spread = "none"
    why: str = ""
    optional: bool | None = None

    @model_validator(mode="after")
    def _something(self) -> QueueRule:
        if self.rps is None and self.xps is None:
            raise ValueError("a rule without queues; accepted: rps, xps or both")
        return self


class NetQueues(Section):
    """``{rps: off}`` for every interface of a device, or rules, of which the first that names a way counts.

    Interfaces without hardware (bonds, bridges, loopback) are left alone.
    """

    rps: Asked[Where] | None = None
    xps: Asked[Where] | None = None
    rules: list[QueueRule] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What one rule, or the section as a whole, asks of one way. `path`: where in the profile."""

    path: Path
    asked: QueueRule | Asked[Any]
    where: Literal["off", "local", "all"] | CpuSet
    spread: Spread = "none"

    def means(self, device: Device) -> bool:
        """Whether a device falls under it."""
        return not isinstance(self.asked, QueueRule) or self.asked.match.device(device)


def settings(section: NetQueues, context: Context) -> tuple[Setting, ...]:
    """One setting for each queue; one row for what comes to nothing."""
    return (*_of_way("rps", section, context), *_of_way("xps", section, context))


def _of_way(way: Way, section: NetQueues, context: Context) -> Iterator[Setting]:
    wishes = list(_wishes(way, section))
    devices = {device.address: device for device in context.topology.devices}
    taken: dict[int, list[Queues]] = {}
    for queues in context.topology.queues:
        number = next((n for n, wish in enumerate(wishes) if wish.means(devices[queues.device])), None)
        if number is not None:
            taken.setdefault(number, []).append(queues)
    for number, wish in enumerate(wishes):
        for queues in taken.get(number, ()):
            yield from _of_interface(way, wish, queues, devices[queues.device], context)
        if number not in taken:
            match = f" matches {wish.asked.match}" if isinstance(wish.asked, QueueRule) else " has hardware"
            yield _nothing(way, wish, NoPlace("not-applicable", f"no interface that is left{match}"), "", context)


def _wishes(way: Way, section: NetQueues) -> Iterator[_Wish]:
    for number, rule in enumerate(section.rules):
        where = rule.rps if way == "rps" else rule.xps
        if where is not None:
            yield _Wish(("net_queues", "rules", str(number)), rule, where, rule.spread)
    every = section.rps if way == "rps" else section.xps
    if every is not None:
        yield _Wish(("net_queues", way), every, every.value)


def _of_interface(way: Way, wish: _Wish, queues: Queues, device: Device, context: Context) -> Iterator[Setting]:
    found = _place(wish, device, context.topology)
    if isinstance(found, NoPlace):
        yield _nothing(way, wish, found, queues.interface, context)
        return
    numbers, folder = (queues.receive, "rx") if way == "rps" else (queues.transmit, "tx")
    spread = wish.spread if way == "xps" else "none"
    over = slots(found.cpus, spread, context.topology) if found.cpus else (CpuSet(),)
    several = way == "rps" and found.cpus and len(numbers) > 1
    busier = (
        f"{queues.interface} has {len(numbers)} receive queues: RPS adds interrupts between CPUs" if several else ""
    )
    mask = CpuMask(width=width(context.topology))
    for place_, number in enumerate(numbers):
        file = f"/sys/class/net/{queues.interface}/queues/{folder}-{number}/{way}_cpus"
        made = wanted(
            context,
            wish.path,
            wish.asked,
            want=over[place_ % len(over)].mask(mask.width),
            target=KernelFile((file,), absent=_ONE_QUEUE if way == "xps" else "needs CONFIG_RPS"),
            codec=mask,
            phase=Phase.IRQ,
        )
        yield replace(
            made,
            id=SettingId(f"net_queues:{queues.interface}/{folder}-{number}/{way}"),
            family=f"net_queues:{queues.interface}/{way}",
            note=joined(found.note, busier),
        )


def _place(wish: _Wish, device: Device, topology: Topology) -> Place | NoPlace:
    return Place(CpuSet()) if wish.where == "off" else place(wish.where, device, topology)


def _nothing(way: Way, wish: _Wish, found: NoPlace, interface: str, context: Context) -> Setting:
    made = wanted(
        context,
        wish.path,
        wish.asked,
        want=str(wish.where),
        target=found.target(context.source(*wish.path)),
        codec=CpuMask(),
        phase=Phase.IRQ,
    )
    parts = [*wish.path[1:], *([interface] if interface else []), *([way] if wish.path[-1] != way else [])]
    return replace(made, id=SettingId(f"net_queues:{'/'.join(parts)}"))


KNOB: Final = Knob(
    name="net_queues",
    model=NetQueues,
    reads=frozenset({TopologySection.QUEUES}),
    settings=settings,
)
