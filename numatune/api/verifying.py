"""A second opinion on a host: the wanted values, worked out as plan does or as they are stored, asked by testinfra."""

from __future__ import annotations

from dataclasses import dataclass, replace

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numatune.api.memory import Memory
    from numatune.api.planning import Request
    from numatune.host.protocol import Reader
    from numatune.settings.model import Setting
    from numatune.settings.plan import Change, Plan, ProfileInfo, Remembered
    from numatune.topology.model import Topology
    from numatune.verify.remote import Remote
    from numatune.verify.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted, and why it is not what is stored."""

    profiles: tuple[ProfileInfo, ...]
    settings: Sequence[Setting]
    topology: Topology
    anew: str = ""


def verify(reader: Reader, request: Request, *, junit: Path | None = None) -> tuple[Plan, str]:
    """What the host holds of a profile, or of the applied set when the request names none, as rows without actions.

    `reader` tells only what the wanted values are; what the host holds is asked for elsewhere: each row's `seen.where`
    names the place. Held rows are marked. `junit`: a file for the checks' JUnit XML. The text tells why the stored
    values were worked out anew, "" when they were not. Raises UsageError for a captured tree, StateError when nothing
    is applied, ProfileError, HostError.
    """
    from numatune.api.memory import recall
    from numatune.api.planning import check_sections
    from numatune.errors import UsageError

    if reader.root != "/":
        hint = "numatune plan compares a captured tree"
        raise UsageError("--root", f"{reader.root} is a tree: verify asks the running host itself", hint=hint)
    check_sections(request)
    memory = recall(reader)
    asked = of_profiles(reader, request) if request.profiles else _of_applied(reader, memory)
    return compared(asked, request, reader, memory, junit=junit), asked.anew


def compared(  # noqa: PLR0913  # the last two have defaults
    asked: Asked,
    request: Request,
    reader: Reader,
    memory: Memory,
    *,
    junit: Path | None = None,
    remote: Remote | None = None,
) -> Plan:
    """The sections of what is wanted that the request names, each setting asked for. Raises as `checks_for`."""
    from numatune.api.planning import host_info
    from numatune.engine import applied, holds, when
    from numatune.settings.plan import Plan
    from numatune.verify.isolated import checks_for

    chosen = {
        setting.id: setting
        for one in applied.chosen(asked.settings, request.only, request.skip)
        for setting in (one, *one.companions)
    }
    verdicts = checks_for(list(chosen.values()), junit=junit, remote=remote)
    rows = [_row(chosen[said.id], said, memory) for said in verdicts]
    shown = holds.respect(rows, memory.holds, when.stamp())
    return Plan(asked.profiles, host_info(reader, asked.topology), shown)


def of_profiles(reader: Reader, request: Request) -> Asked:
    """What the profiles of a request mean on a host. Raises ProfileError."""
    from numatune.api.planning import want

    wanted = want(reader, request)
    return Asked(wanted.resolved.profiles, wanted.resolved.settings, wanted.topology)


def _of_applied(reader: Reader, memory: Memory) -> Asked:
    """The applied set: its values as they are stored, or worked out anew where the host is no longer the same."""
    from numatune.api import anew
    from numatune.discover import discover
    from numatune.errors import StateError

    stored = memory.applied
    if stored is None or not stored.parts:
        raise StateError("", "nothing is applied here", hint="numatune verify PROFILE compares with a profile")
    topology, changed = discover(reader, ()), anew.why(stored, reader)
    settings = anew.settings(stored, reader) if changed else stored.settings
    return Asked(stored.profiles, settings, topology, changed)


def _row(setting: Setting, said: Verdict, memory: Memory) -> Change:
    from numatune.settings.plan import Change, Observation

    row = Change(setting, Observation(said.found, where=said.source), said.status, reason=said.message)
    known = memory.remembered.get(setting.id)
    return _as_learned(row, known) if known else row


def _as_learned(row: Change, known: Remembered) -> Change:
    """A difference that the last apply found out to be the kernel's own doing: no drift.

    Before Linux 6.12 only a refused write tells that an interrupt is managed.
    """
    from numatune.settings.codecs import agree
    from numatune.settings.plan import Status

    codec, want, held = row.setting.codec, row.setting.want, row.seen.text
    if row.status is not Status.DRIFTED or want is None or held is None or known.held is None:
        return row
    if not (agree(codec, known.want, want) and agree(codec, known.held, held)):
        return row
    return replace(row, status=known.status, reason="as the kernel left it when it was applied")
