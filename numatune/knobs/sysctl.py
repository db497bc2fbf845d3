"""sysctl: any key of /proc/sys; those that matter for NUMA are checked against a catalogue before they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import GetJsonSchemaHandler, RootModel

from numatune.compat import override
from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Path, Refused
from numatune.knobs.page_sizes import GIVEN_BACK
from numatune.knobs.sysctl_catalogue import CATALOGUE, UNKNOWN, Known, json_schema, misspelt
from numatune.knobs.sysctl_guards import guard, shrinks_pools
from numatune.knobs.sysctl_values import typed
from numatune.settings.codecs import AnyCodec, Int, Paired
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.targets import KernelFile
from numatune.topology.model import Section

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_PART: Final = re.compile(r"[A-Za-z0-9_][\x21-\x2e\x30-\x7e]*\Z")
"""One folder or file name below /proc/sys: printable, no blank, no slash."""
_PHASES: Final = {
    "sysctl": Phase.SYSCTL,
    "balancing": Phase.BALANCING,
    "reclaim": Phase.RECLAIM,
    "compaction": Phase.COMPACTION,
    "hugepages": Phase.HUGEPAGES,
}


class SysctlSection(RootModel[dict[str, Asked[Any]]]):
    """Keys of /proc/sys with dots or slashes, each with a value or ``{value: ..., why: ..., optional: true}``."""

    @classmethod
    @override
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """For editors: the known keys by name."""
        return {
            **handler(core),
            "properties": {key: json_schema(known) for key, known in CATALOGUE.items() if not known.action},
        }


def canonical(written: str) -> str:
    """One spelling of a key, as sysctl(8) reads it: whichever of . and / comes first separates, the other is literal.

    ``net/ipv4/conf/eth0.100/forwarding`` and ``net.ipv4.conf.eth0/100.forwarding`` are one. Raises ValueError.
    """
    first = next((char for char in written if char in "./"), "")
    swap = str.maketrans("./", "/.")
    parts = (written if first == "/" else written.translate(swap)).split("/")
    accepted = "a key below /proc/sys, like vm.swappiness or net.ipv4.conf.eth0/100.forwarding"
    if written.startswith("-"):
        raise ValueError(f"{written!r} begins with -; accepted: optional: true on the setting")
    if any(char in written for char in "*?[]"):
        raise ValueError(f"{written!r} is a pattern; accepted: one key, written out")
    if len(parts) < 2 or not all(_PART.match(part) for part in parts):  # noqa: PLR2004  # a folder and a file
        below = written.removeprefix("/proc/sys/")
        hint = f"; hint: write {below.replace('/', '.')}" if below != written else ""
        raise ValueError(f"{written!r} is no sysctl key; accepted: {accepted}{hint}")
    return ".".join(part.replace(".", "/") for part in parts)


def path_of(key: str) -> str:
    """The file of a key in its canonical spelling."""
    return "/proc/sys/" + key.translate(str.maketrans("./", "/."))


def _settings(section: SysctlSection, context: Context) -> tuple[Setting, ...]:
    problems: list[tuple[Path, Problem]] = []
    made: list[Setting] = []
    wanted = _Wanted(section.root, context)
    for key in section.root:
        try:
            made.append(wanted.setting(key))
        except ValueError as error:
            problems.append(((key,), Problem.told(error)))
    if problems:
        raise Refused(*problems)
    return tuple(made)


class _Wanted:
    """The section with its host; pairs look at each other."""

    def __init__(self, asked: Mapping[str, Asked[Any]], context: Context) -> None:
        self._asked = asked
        self._context = context

    def setting(self, key: str) -> Setting:
        """One key's setting. Raises ValueError: ``found; accepted: ...; hint: ...``."""
        asked = self._asked[key]
        known = CATALOGUE.get(key, UNKNOWN)
        if asked.optional is None and (close := misspelt(key)):
            hint = f"did you mean {close}? A key that is really meant has `optional` written out"
            raise ValueError(f"no sysctl {key} is known; hint: {hint}")
        if known.action:
            raise ValueError(f"{key} {known.action}; accepted: keys that hold a state")
        want, codec = typed(asked.value, known)
        limit = self._asked.get(known.not_above)
        if limit is not None and type(limit.value) is int and int(want) > limit.value:
            raise ValueError(f"{want} is more than {known.not_above}, {limit.value}; accepted: up to {limit.value}")
        shrinks = known.pool and shrinks_pools(want, self._context.topology)
        return Setting(
            id=_id(key),
            target=KernelFile((path_of(key),), absent=known.absent),
            codec=self._paired(known, want, codec) if known.partner else codec,
            want=want,
            phase=_PHASES[known.phase],
            section="sysctl",
            source=self._context.source("sysctl", key),
            why=asked.why,
            optional=asked.optional,
            impact=Impact.DISRUPTS if known.disrupts_unless_zero and want != "0" else Impact.LIVE,
            after=(_id(known.partner),) if known.zero_by_partner else (),
            companions=(watched(known.partner, watched(key)),) if known.partner else (),
            undo="nearest" if shrinks else known.undo_for(want),
            note=GIVEN_BACK if shrinks else known.note_for(want),
            guard=guard(key, want, known, self._context.topology),
            home="sysctl.d",
        )

    def _paired(self, known: Known, want: str, codec: AnyCodec) -> AnyCodec:
        """The codec of one of two files of which each write zeroes the other.

        The kernel takes 0 in the ratios and refuses it, or takes it for the ratio, in the bytes; a written 0 would also
        undo the partner's value. So 0 is left to the partner's write wherever the partner is to be something.
        """
        operator = codec.op if isinstance(codec, Int) else "="
        partner = self._asked.get(known.partner)
        partner_is_zero = partner is None or partner.value in (0, "0")
        if want != "0" and not partner_is_zero:
            where = self._context.source("sysctl", known.partner)
            found = f"{known.partner} is set too ({where}), and each write zeroes the other"
            raise ValueError(f"{found}; accepted: one of them")
        if want == "0" and partner is None and known.zero_by_partner:
            raise ValueError(f"0, which only {known.partner} can bring about; accepted: {known.partner} instead")
        return Paired(operator) if known.zero_by_partner or (want == "0" and not partner_is_zero) else Int(operator)


def watched(key: str, *beside: Setting) -> Setting:
    """A key that the kernel rewrites beside another: saved and given back with it. `beside`: what it rewrites."""
    known = CATALOGUE.get(key, UNKNOWN)
    return Setting(
        id=_id(key),
        target=KernelFile((path_of(key),), absent=known.absent),
        codec=Paired() if known.zero_by_partner else Int(),
        want=None,
        phase=_PHASES[known.phase],
        section="sysctl",
        after=(_id(known.partner),) if known.zero_by_partner else (),
        companions=beside,
        undo=known.undo,
        home="sysctl.d",
    )


def _id(key: str) -> SettingId:
    return SettingId(f"sysctl:{key}")


KNOB: Final = Knob(
    name="sysctl",
    model=SysctlSection,
    reads=frozenset({Section.MACHINE, Section.NODES}),
    settings=_settings,
    key=canonical,
)
