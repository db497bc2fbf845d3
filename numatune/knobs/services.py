"""Services that would undo what a profile sets: stopped, masked, or irqbalance kept off what is placed.

A unit is stopped and taken out of the boot; a process that runs without its unit is told with its pid and left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import ConfigDict, RootModel

from numatune.cpus import CpuSet
from numatune.errors import Problem, did_you_mean
from numatune.knobs import irqbalance
from numatune.knobs.base import Asked, Context, Knob, Path, Refused
from numatune.knobs.cpu_masks import width
from numatune.settings.codecs import AnyCodec, AtBoot, Text, Words
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.targets import IrqAffinity, Nothing, OwnedFile, UnitState
from numatune.topology.model import Section, Topology

State = Literal["stopped", "masked", "banned"]
Wanted = Asked[State]

_UNIT = re.compile(r"[A-Za-z0-9_.:@\\-]+", re.ASCII)
_SUFFIXES = (".service", ".socket", ".timer", ".path")
_WHOLE = (".slice", ".scope", ".target", ".mount", ".automount", ".swap", ".device")
_HOUSEKEEPING = frozenset({"system.slice", "user.slice", "init.scope"})
_BROUGHT_DOWN = ("systemd-", "dbus", "init.", "ssh.", "sshd.")
_MISSPELT = 0.88
"""How alike a name is to one of these that can only be a slip: one letter of eight."""

_TUNERS = frozenset(
    {
        "auto-cpufreq",
        "bpftune",
        "cpufrequtils",
        "cpupower",
        "google-set-multiqueue",
        "irqbalance",
        "ksm",
        "ksmtuned",
        "numad",
        "ondemand",
        "power-profiles-daemon",
        "sapconf",
        "saptune",
        "thermald",
        "tlp",
        "tuned",
        "tuned-ppd",
    }
)
"""Nobody's work runs in these: stopping one cuts nothing off. Any other unit is taken to do work."""


_CONFINING = ("almalinux", "centos", "fedora", "ol ", "rhel", "rocky")
_CONFINED = (
    "where SELinux enforces, irqbalance runs scripts only as its policy allows (selinux-policy pull request 2552)"
)


class Services(RootModel[dict[str, Wanted]]):
    """The section ``services:``, a state by unit: stopped, masked, or banned for irqbalance."""

    model_config = ConfigDict(strict=True, frozen=True)


def unit_key(text: str) -> str:
    """One spelling for a unit's name: ``tuned`` for tuned.service, others with their suffix. Raises ValueError."""
    name = text.removesuffix(".service")
    if not _UNIT.fullmatch(name) or name.startswith("-"):
        raise ValueError(f"{text!r} is no name of a unit; accepted: one like irqbalance or irqbalance.service")
    if name.endswith(_WHOLE):
        raise ValueError(f"{text} is more than one service; accepted: a service, socket, timer or path unit")
    return name


def settings(section: Services, context: Context) -> tuple[Setting, ...]:
    """What makes each unit be as asked. Units stop before anything else is written."""
    problems = [problem for name, asked in section.root.items() for problem in _problems(name, asked)]
    if problems:
        raise Refused(*problems)
    made: list[Setting] = []
    for name, asked in section.root.items():
        unit = _Unit(name, asked, context)
        made += _banned(unit) if asked.value == "banned" else _stopped(unit)
    return tuple(made)


def _problems(name: str, asked: Wanted) -> Iterator[tuple[Path, Problem]]:
    if asked.value == "banned" and name != "irqbalance":
        yield (name,), Problem("", f"{name}: banned", "stopped or masked; banned is for irqbalance")
    if name not in _TUNERS and (hint := did_you_mean(name, _TUNERS, _MISSPELT)):
        yield (name,), Problem("", f"no known tuner is called {name}", hint=hint)
    if _full(name).startswith(_BROUGHT_DOWN):
        hint = "the host or the way to it stands on this unit"
        yield (name,), Problem("", f"{name} is not numatune's to stop", hint=hint)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit by the name that the profile gives it, what is asked of it, and where."""

    name: str
    asked: Wanted
    context: Context

    @property
    def unit(self) -> str:
        return _full(self.name)

    def row(self, what: str, target: UnitState | OwnedFile | Nothing, codec: AnyCodec, want: str) -> Setting:
        return Setting(
            id=SettingId(f"service:{self.name}/{what}"),
            target=target,
            codec=codec,
            want=want,
            phase=Phase.QUIET if isinstance(target, UnitState) else Phase.FILES,
            section="services",
            source=self.context.source("services", self.name),
            why=self.asked.why,
            optional=self.asked.optional,
            family=f"service:{self.name}" if isinstance(target, OwnedFile) else "",
            impact_in_use=Impact.DISRUPTS if what == "active" and self.name not in _TUNERS else None,
        )

    def file(self, what: str, target: OwnedFile, text: str, after: Sequence[Setting] = ()) -> Setting:
        return replace(self.row(what, target, Text(), text), after=tuple(one.id for one in after))


def _full(name: str) -> str:
    return name if name.endswith(_SUFFIXES) else f"{name}.service"


def _stopped(unit: _Unit) -> Iterator[Setting]:
    process = unit.name if unit.unit.endswith(".service") and "@" not in unit.name else ""
    yield unit.row("active", UnitState(unit.unit, "active", process), Words(), "inactive")
    if not unit.context.topology.machine.systemd:
        return  # nothing tells what another init would start
    if unit.asked.value == "masked":
        yield unit.row("masked", UnitState(unit.unit, "masked"), AtBoot(), "masked")
    else:
        yield unit.row("enabled", UnitState(unit.unit, "enabled"), AtBoot(), "disabled")


def _banned(unit: _Unit) -> Iterator[Setting]:
    topology, told = unit.context.topology, unit.context.topology.irqbalance
    devices = sorted({one.target.device for one in unit.context.made if isinstance(one.target, IrqAffinity)})
    cpus = _placed(unit.context)
    if nothing := _nothing_to_ban(topology, devices, cpus):
        yield unit.row("banned", nothing, Text(), "banned")
        return
    script, files = "", list[Setting]()
    if devices and told.variable:
        script = irqbalance.policy(devices, told.policy)
        row = unit.file("policy", OwnedFile(irqbalance.POLICY, 0o755), script)
        files.append(replace(row, note=_CONFINED if topology.machine.distribution.startswith(_CONFINING) else ""))
    elif devices:
        reason = f"{told.unit} hands no variable on to irqbalance, so it cannot be told of a policy script"
        yield unit.row("policy", Nothing("unsupported", reason), Text(), irqbalance.POLICY)
    text = irqbalance.environment(told, cpus, max(width(topology), cpus.last + 1 if cpus else 1), script)
    read = OwnedFile(irqbalance.ENVIRONMENT, restart=irqbalance.UNIT, through=irqbalance.DROP_IN)
    files.append(unit.file("environment", read, text, after=files))
    drop_in = OwnedFile(irqbalance.DROP_IN, restart=irqbalance.UNIT)
    yield from (*files, unit.file("drop-in", drop_in, irqbalance.drop_in(), after=files))


def _nothing_to_ban(topology: Topology, devices: list[str], cpus: CpuSet) -> Nothing | None:
    if not topology.machine.systemd:
        reason = (
            "irqbalance is told by a drop-in of its unit, and systemd does not run here; stopped tells whether it runs"
        )
        return Nothing("unsupported", reason)
    if not topology.irqbalance.unit:
        return Nothing("not-applicable", "irqbalance is not installed")
    if not devices and not cpus:
        return Nothing("not-applicable", "the profile places no interrupts and gives no CPUs to a cpuset")
    return None


def _placed(context: Context) -> CpuSet:
    """CPUs that irqbalance has to leave alone: those of cpusets that do work, beside those it leaves alone already.

    None at all when that would be every online CPU: irqbalance then had nowhere to put what is left to it.
    """
    topology = context.topology
    ours = CpuSet()
    for one in context.made:
        group, _, key = one.id.removeprefix("cpuset:").rpartition("/")
        given = one.section == "cpusets" and key == "cpus" and not isinstance(one.target, Nothing)
        if given and one.want and group not in _HOUSEKEEPING:
            ours |= CpuSet.parse(one.want)
    if not ours:
        return ours
    before = topology.irqbalance.banned
    ours |= topology.cpus.isolated | topology.cpus.nohz_full if before is None else before
    return ours if topology.cpus.online - ours else CpuSet()


KNOB = Knob(
    name="services",
    model=Services,
    reads=frozenset({Section.MACHINE, Section.CPUS, Section.SERVICES}),
    settings=settings,
    key=unit_key,
)
