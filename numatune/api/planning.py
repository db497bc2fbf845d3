"""Profiles and a host -> plan: load, discover, resolve, observe, diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader
    from numatune.profile import Document, Resolved
    from numatune.settings.model import Setting
    from numatune.settings.plan import Change, HostInfo, Plan
    from numatune.topology.model import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a host.

    profiles   paths or names, later ones win
    variables  ``--var``: text that replaces a variable's value
    only, skip sections of the profile; () for all, or none
    allow_*    what a guard rail would keep from being written
    retry      try again what an earlier apply learned to be out of reach
    """

    profiles: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    allow_disruption: bool = False
    allow_unsafe: frozenset[str] = frozenset()
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A profile that has met a host: everything a plan is made from but the values that the host holds."""

    document: Document
    topology: Topology
    resolved: Resolved


def load(names: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Document:
    """Read profiles. As root only files that nobody else can write. Raises ProfileError, TrustError."""
    from numatune import profile

    return profile.load(names, variables=variables or {})


def want(reader: Reader, request: Request) -> Wanted:
    """What the request means on this host. Raises ProfileError with everything that is wrong."""
    from numatune import profile
    from numatune.discover import discover
    from numatune.topology.resolve import with_overrides

    document = load(request.profiles, variables=request.variables)
    topology = with_overrides(discover(reader, document.reads), document.overrides)
    return Wanted(document, topology, profile.resolve(document, topology))


def plan(reader: Reader, request: Request) -> Plan:
    """The full difference between the profiles and this host. Changes nothing, needs no root."""
    return difference(reader, request, want(reader, request))


def difference(reader: Reader, request: Request, wanted: Wanted) -> Plan:
    """The plan, from values that are read now."""
    from numatune.settings.plan import Plan

    return Plan(wanted.resolved.profiles, host_info(reader, wanted.topology), changes(reader, request, wanted))


def changes(reader: Reader, request: Request, wanted: Wanted) -> tuple[Change, ...]:
    """The rows of the plan, in the order of writing, watched companions included."""
    from numatune.engine.diff import Options, diff
    from numatune.engine.observe import flat, observe

    settings = flat(selected(wanted, request))
    options = Options(
        allow_disruption=request.allow_disruption or wanted.resolved.allow_disruption,
        allow_unsafe=request.allow_unsafe,
        retry=request.retry,
    )
    return diff(settings, observe(settings, reader), options)


def selected(wanted: Wanted, request: Request) -> tuple[Setting, ...]:
    """Settings of the sections that were asked for. Raises UsageError for a section that no profile can have."""
    from numatune.errors import UsageError
    from numatune.knobs import KNOBS

    known = [knob.name for knob in KNOBS]
    for option, sections in (("--only", request.only), ("--skip", request.skip)):
        for section in sections:
            if section not in known:
                raise UsageError(option, f"no section {section!r}", accepted=", ".join(known))
    return tuple(
        setting
        for setting in wanted.resolved.settings
        if (not request.only or setting.section in request.only) and setting.section not in request.skip
    )


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
