"""Profiles, a host, and what is remembered of it -> plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    from numatune.api.memory import Memory
    from numatune.engine.diff import Options
    from numatune.host.protocol import Reader
    from numatune.profile import Document, Resolved
    from numatune.settings.applied import Part, SavedPlan
    from numatune.settings.model import Setting
    from numatune.settings.plan import Change, HostInfo, Plan
    from numatune.topology.model import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a host.

    profiles   paths or names, later ones win
    variables  ``--var``: text that takes the place of a variable's value
    only, skip sections of the profile; () for all, or none
    allow_*    what a guard rail would keep from being written
    retry      try again what an earlier apply learned to be out of reach
    add        to what is applied, instead of in its place
    keep_released  what is no longer wanted stays as it is
    on_error, on_unmet   None: as the profile says
    persist    whether the set survives a reboot; None: as the last apply chose
    """

    profiles: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    allow_disruption: bool = False
    allow_unsafe: frozenset[str] = frozenset()
    retry: bool = False
    add: bool = False
    keep_released: bool = False
    on_error: Literal["continue", "rollback"] | None = None
    on_unmet: Literal["stop", "warn"] | None = None
    persist: bool | None = None

    @property
    def releases(self) -> bool:
        """Whether what is no longer wanted is given back."""
        return not (self.add or self.keep_released or self.only or self.skip)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Profiles that have met a host: everything that a plan is made from but the values that the host holds."""

    document: Document
    topology: Topology
    resolved: Resolved


def load(names: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Document:
    """Read profiles; as root only files that nobody else can write. Raises ProfileError, TrustError."""
    import os

    from numatune import profile

    check = _trusted if os.geteuid() == 0 else None
    return profile.load(names, variables=variables or {}, check=check)


def _trusted(path: str) -> None:
    """Raises TrustError for a file that somebody else could have written, with what to do about a profile."""
    import os

    from numatune.engine import trust
    from numatune.errors import TrustError
    from numatune.profile.lookup import ETC

    whole = os.path.abspath(path)  # noqa: PTH100  # pathlib costs a start-up
    try:
        trust.check(whole)
    except TrustError as error:
        problem = error.problems[0]
        hint = f"put it under {ETC}, owned by root"
        hint = f"sudo {problem.hint}, or {hint}" if problem.where == whole and problem.hint else hint
        raise TrustError(problem.where, problem.found, accepted=problem.accepted, hint=hint) from error


def plan(reader: Reader, request: Request) -> Plan:
    """The full difference between the profiles and a host. Changes nothing, needs no root.

    Raises ProfileError with everything that is wrong, UsageError for a section that no profile can have.
    """
    return prepare(reader, request).plan


def prepare(
    reader: Reader, request: Request, document: Document | None = None, others: Reader | None = None
) -> SavedPlan:
    """A plan with all that carrying it out needs. Raises as `plan`, and TrustError for what a boot would run.

    document  the request's profiles, where they are read already
    others    who is asked who else sets a value; None: the reader
    """
    from numatune.api import expecting, persisting
    from numatune.api.memory import recall
    from numatune.engine import applied
    from numatune.engine.observe import flat
    from numatune.settings.applied import Part, SavedPlan
    from numatune.settings.plan import Plan

    check_sections(request)
    wanted = want(reader, request, document)
    resolved = wanted.resolved
    memory = recall(reader, ledger=request.releases)
    if memory.applied and memory.applied.program and not request.releases:
        memory = recall(reader, ledger=True)
    settings = applied.chosen(resolved.settings, request.only, request.skip)
    program = persisting.program(request, memory.applied.program if memory.applied else (), reader)
    kept, notes = persisting.rows(settings, request, program, memory, reader)
    settings += kept
    allowed, on_unmet = request.allow_disruption or resolved.allow_disruption, request.on_unmet or resolved.on_unmet
    options = options_for(request.allow_unsafe, allow_disruption=allowed, retry=request.retry)
    changes = difference(settings, reader, options, memory, whole=request.releases, others=others)
    asked = {setting.id for setting in flat(settings)}
    notes = (*resolved.notes, *notes, *expecting.notes(changes, on_unmet))
    part = Part(resolved.profiles, wanted.document.stored(), request.only, request.skip, resolved.allow_disruption)
    return SavedPlan(
        Plan(resolved.profiles, host_info(reader, wanted.topology), changes, notes=notes),
        _parts(part, request, memory),
        since=memory.newest,
        add=bool(request.add or request.only or request.skip),
        keep_released=request.keep_released,
        allow_disruption=allowed,
        allow_unsafe=tuple(sorted(request.allow_unsafe)),
        retry=request.retry,
        on_error=request.on_error or resolved.on_error,
        on_unmet=on_unmet,
        released=tuple(change.setting.id for change in changes if change.setting.id not in asked),
        applied=applied.named(memory.applied),
        program=program,
    )


def save_plan(path: str, made: SavedPlan) -> None:
    """Write a plan to a file. Raises StateError."""
    import os

    from numatune.engine import saved

    saved.save(os.path.abspath(path), made)  # noqa: PTH100  # pathlib costs a start-up


def load_plan(path: str) -> SavedPlan:
    """Read a saved plan. Raises TrustError when others could have written it, StateError when it is none."""
    import os

    from numatune.engine import saved

    return saved.load(os.path.abspath(path))  # noqa: PTH100  # pathlib costs a start-up


def want(reader: Reader, request: Request, document: Document | None = None) -> Wanted:
    """What the request means on this host. Raises ProfileError. `document`: as for `prepare`."""
    from numatune import profile
    from numatune.api.memory import recall
    from numatune.discover import discover
    from numatune.engine import applied
    from numatune.topology.resolve import with_names, with_overrides

    document = document or load(request.profiles, variables=request.variables)
    topology = with_overrides(discover(reader, document.reads), document.overrides)
    if not all(interrupt.name for interrupt in topology.interrupts):
        topology = with_names(topology, applied.interrupt_names(recall(reader).applied))
    return Wanted(document, topology, profile.resolve(document, topology))


def difference(  # noqa: PLR0913  # a plan is made from so much
    settings: Sequence[Setting],
    reader: Reader,
    options: Options,
    memory: Memory,
    *,
    whole: bool = True,
    others: Reader | None = None,
) -> tuple[Change, ...]:
    """The rows of a plan, in the order of writing, watched companions and what is released included.

    whole   the settings take the place of all that is applied; else only what made the old set survive a reboot is
            released where the new one has no need of it
    others  as for `prepare`
    """
    from numatune.api import persisting
    from numatune.engine import conflicts, holds, when
    from numatune.engine.diff import diff
    from numatune.engine.observe import flat, observe
    from numatune.engine.order import order
    from numatune.engine.release import released

    wanted = flat(settings)
    seen = observe(wanted, reader, name_conflicts=False)
    rows = diff(wanted, conflicts.named(wanted, seen, others or reader), options, memory.remembered)
    if memory.ledger and memory.applied:
        stored = memory.applied
        old = (*stored.settings, *stored.owed) if whole else persisting.of(stored)
        rows = order((*rows, *released(old, wanted, memory.ledger, reader, options, memory.boot_id)))
    return holds.respect(rows, memory.holds, when.stamp())


def options_for(allow_unsafe: frozenset[str], *, allow_disruption: bool, retry: bool) -> Options:
    """What diff is told of a request."""
    from numatune.engine.diff import Options

    return Options(allow_disruption=allow_disruption, allow_unsafe=allow_unsafe, retry=retry)


def host_info(reader: Reader, topology: Topology) -> HostInfo:
    """Enough for a reader of a plan to recognise the host."""
    from numatune.settings.plan import HostInfo

    return HostInfo(
        root=reader.root,
        kernel=topology.machine.kernel,
        arch=topology.machine.arch,
        nodes=(reader.read("/sys/devices/system/node/online").text or "").strip(),
        cpus=str(topology.cpus.online),
        boot_id=topology.machine.boot_id,
        fingerprint=topology.fingerprint,
    )


def _parts(part: Part, request: Request, memory: Memory) -> tuple[Part, ...]:
    """What the applied set is made from afterwards. Sections alone, and --add, leave what is applied beside them."""
    from numatune.engine import applied

    beside = memory.applied.parts if memory.applied and (request.add or request.only or request.skip) else ()
    return applied.added(beside, part)


def check_sections(request: Request) -> None:
    """Raises UsageError for a section that no profile can have."""
    from numatune.errors import UsageError
    from numatune.knobs import SECTIONS

    for option, sections in (("--only", request.only), ("--skip", request.skip)):
        for section in sections:
            if section not in SECTIONS:
                raise UsageError(option, f"no section {section!r}", accepted=", ".join(SECTIONS))
