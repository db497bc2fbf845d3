"""Interrupts: which CPUs serve those of a device, by the first rule that matches, and where new ones start."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from numatune.cpus import CpuSet
from numatune.knobs.base import Asked, Context, CpuSetField, Knob, Section, joined
from numatune.knobs.cpu_masks import width
from numatune.knobs.irq_rules import Claim, NoPlace, Rule, claims, place, slots, unmatched, usable
from numatune.settings.codecs import CpuList, CpuMask, Text
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import IrqAffinity, KernelFile
from numatune.topology.model import Section as TopologySection

DEFAULT_AFFINITY = "/proc/irq/default_smp_affinity"


class Irq(Section):
    """Interrupts of devices and the CPUs that serve them.

    Only message-signalled interrupts are placed. Each is known by its device and MSI index: its number changes when a
    driver is bound again, and its name is empty while a link is down: a rule that asks for names leaves those alone
    that it has never seen with one.

    default_affinity  CPUs for interrupts that become active later; it moves none that is active
    rules             an interrupt goes to the first rule that matches it
    """

    default_affinity: Asked[CpuSetField] | None = None
    rules: list[Rule] = Field(default_factory=list)


def settings(section: Irq, context: Context) -> tuple[Setting, ...]:
    """One setting for each interrupt that a rule gets; one row for each rule or device where nothing comes of it."""
    made = [] if section.default_affinity is None else [_default(section.default_affinity, context)]
    for number, claimed in enumerate(claims(section.rules, context.topology)):
        made += _of_rule(number, section.rules[number], claimed, context)
    return tuple(made)


def _default(asked: Asked[CpuSet], context: Context) -> Setting:
    """Of the whole machine: Linux Documentation/core-api/irq/irq-affinity.rst."""
    found, source = usable(asked.value, context.topology), context.source("irq", "default_affinity")
    if isinstance(found, NoPlace):
        return Setting(
            id=SettingId("irq:default_smp_affinity"),
            target=found.target(source),
            codec=Text(),
            want=str(asked.value),
            phase=Phase.IRQ,
            section="irq",
            source=source,
            why=asked.why,
            optional=asked.optional,
        )
    mask = CpuMask(width=width(context.topology))
    return Setting(
        id=SettingId("irq:default_smp_affinity"),
        target=KernelFile((DEFAULT_AFFINITY,)),
        codec=mask,
        want=found.cpus.mask(mask.width),
        phase=Phase.IRQ,
        section="irq",
        source=source,
        why=asked.why,
        optional=asked.optional,
        note=joined(found.note, "counts for interrupts that start later, moves none that is active"),
    )


def _of_rule(number: int, rule: Rule, claimed: tuple[Claim, ...], context: Context) -> Iterator[Setting]:
    topology = context.topology
    if not claimed:
        nothing = NoPlace("not-applicable", unmatched(rule, topology))
        yield _row(f"irq:rules/{number}", nothing, number, rule, context)
    spread: dict[CpuSet, tuple[CpuSet, ...]] = {}
    for claim in claimed:
        address = claim.device.address
        if claim.nameless:
            yield _row(f"irq:rules/{number}/{address}/nameless", _nameless(claim, rule), number, rule, context)
        if not claim.interrupts:
            continue
        found = place(rule.where, claim.device, topology, rule.away_from)
        if isinstance(found, NoPlace):
            yield _row(f"irq:rules/{number}/{address}", found, number, rule, context)
            continue
        over = spread.get(found.cpus) or spread.setdefault(found.cpus, slots(found.cpus, rule.spread, topology))
        for interrupt in claim.interrupts:
            yield Setting(
                id=SettingId(f"irq:{address}/{interrupt.index}"),
                target=IrqAffinity(address, interrupt.index, interrupt.name),
                codec=CpuList(),
                want=str(over[interrupt.index % len(over)]),
                phase=Phase.IRQ,
                section="irq",
                source=context.source("irq", "rules", str(number)),
                why=rule.why,
                optional=rule.optional,
                family=f"irq:{address}",
                note=found.note,
            )


def _nameless(claim: Claim, rule: Rule) -> NoPlace:
    several = len(claim.nameless) > 1
    subject, them = (f"{len(claim.nameless)} interrupts have", "them") if several else ("one interrupt has", "it")
    why = f"left alone, since vector {rule.match.vector} may mean {them}"
    return NoPlace("not-applicable", f"{subject} no name now, as on a link that is down: {why}")


def _row(name: str, nothing: NoPlace, number: int, rule: Rule, context: Context) -> Setting:
    """A visible row: nothing of this rule can be done, for the whole host or for one device."""
    source = context.source("irq", "rules", str(number))
    return Setting(
        id=SettingId(name),
        target=nothing.target(source),
        codec=Text(),
        want=str(rule.where or ""),
        phase=Phase.IRQ,
        section="irq",
        source=source,
        why=rule.why,
        optional=rule.optional,
    )


KNOB = Knob(
    name="irq",
    model=Irq,
    reads=frozenset({TopologySection.NODES, TopologySection.DEVICES, TopologySection.INTERRUPTS}),
    settings=settings,
)
