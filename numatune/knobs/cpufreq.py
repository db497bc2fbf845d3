"""cpufreq: how fast CPUs run and how deep they may sleep.

One row a policy (CPUs that share a frequency), in the order that the kernel wants: the governor before the energy
preference, of the limits first the one that makes room. In most virtual machines the host decides, and there is nothing
to set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Refused, Section, wanted
from numatune.knobs.cpuidle import CpuIdle, idle_settings
from numatune.settings.codecs import AnyCodec, Int, Words
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import NOT_CAPTURED
from numatune.settings.targets import KernelFile, Nothing
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology
from numatune.topology.power import Policy

_ROOT: Final = "/sys/devices/system/cpu/cpufreq"
_DEVICE: Final = "/dev/cpu_dma_latency"
_FILES: Final[dict[str, tuple[str, AnyCodec]]] = {
    "governor": ("scaling_governor", Words()),
    "epp": ("energy_performance_preference", Words()),
    "max_khz": ("scaling_max_freq", Int()),
    "min_khz": ("scaling_min_freq", Int()),
}
"""Keys in the order of writing."""
_WORD: Final = re.compile(r"[a-z_]{1,16}", re.ASCII)


def _governor(word: str) -> str:
    if not _WORD.fullmatch(word):
        raise ValueError(f"{word!r} is no governor; accepted: a word like performance, powersave or schedutil")
    return word


Governor = Annotated[str, AfterValidator(_governor)]
Preference = Literal["performance", "balance_performance", "balance_power", "power"]
Khz = Annotated[int, Field(ge=1, le=100_000_000)] | Literal["lowest", "highest"]


class CpuFreq(Section):
    """``{governor: performance, epp: performance, cpuidle: {disable: [C6]}}``.

    governor  of every policy; not every driver offers every one
    epp       energy preference, of intel_pstate and amd_pstate in their active mode
    min_khz, max_khz   limits in kHz, or lowest and highest for what the hardware has
    cpuidle   which idle states no CPU may enter
    dma_latency_us     cannot be kept by a tool that ends: told, with what can
    """

    governor: Asked[Governor] | None = None
    epp: Asked[Preference] | None = None
    max_khz: Asked[Khz] | None = None
    min_khz: Asked[Khz] | None = None
    cpuidle: CpuIdle = CpuIdle()
    dma_latency_us: Asked[Annotated[int, Field(ge=0, le=2_000_000_000)]] | None = None


def settings(section: CpuFreq, context: Context) -> tuple[Setting, ...]:
    """One setting for each key and policy; one row where this host has none."""
    _check(section)
    policies = context.topology.power.policies
    made: list[Setting] = []
    for name in _FILES:
        asked = getattr(section, name)
        if asked is not None and not policies:
            made.append(_nowhere(name, asked, context))
        elif asked is not None:
            made += (_of_policy(name, asked, policy, context) for policy in policies)
    return (*made, *idle_settings(section.cpuidle, context), *_latency(section, context))


def _check(section: CpuFreq) -> None:
    governor, preference = section.governor, section.epp
    if governor and preference and governor.value == "performance" != preference.value:
        found = f"{preference.value} beside governor: performance"
        raise Refused((("epp",), Problem("", found, "performance; the kernel takes no other then (EBUSY)")))
    low, high = (one.value if one else None for one in (section.min_khz, section.max_khz))
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise Refused((("min_khz",), Problem("", f"{low} above max_khz: {high}", f"up to {high}")))


def _of_policy(name: str, asked: Asked[Any], policy: Policy, context: Context) -> Setting:
    file, codec = _FILES[name]
    want, lacking = _meant(asked.value, policy)
    target = KernelFile((f"{_ROOT}/policy{policy.id}/{file}",), absent="its driver has no such file")
    lacking = lacking or _not_offered(name, want, policy)
    made = wanted(
        context,
        ("cpufreq", name),
        asked,
        want=want,
        target=Nothing("unsupported", lacking) if lacking else target,
        codec=codec,
        phase=Phase.CPUFREQ,
    )
    made = replace(made, id=_id(policy, name), family=f"cpufreq:{name}")
    match name:
        case "governor":
            return replace(made, companions=(_watched_preference(policy),) if policy.preferences else ())
        case "epp":
            return replace(made, after=(_id(policy, "governor"),))
        case "min_khz":
            return replace(made, inside=_id(policy, "max_khz"))
        case _:
            return made


def _meant(value: str | int, policy: Policy) -> tuple[str, str]:
    """What is written, and why it cannot be."""
    match value:
        case "lowest" | "highest":
            known = policy.lowest if value == "lowest" else policy.highest
            return (str(known), "") if known else (value, f"nothing tells the {value} frequency")
        case int() if policy.lowest and policy.highest and not policy.lowest <= value <= policy.highest:
            return str(value), f"its CPUs run at {policy.lowest} to {policy.highest} kHz"
        case _:
            return str(value), ""


def _not_offered(name: str, want: str, policy: Policy) -> str:
    """Why its driver does not take the word, or ""."""
    offered = {"governor": policy.governors, "epp": policy.preferences}.get(name, ())
    if offered and want not in offered:
        return f"{policy.driver or 'its driver'} offers {', '.join(offered)}"
    return ""


def _watched_preference(policy: Policy) -> Setting:
    """The energy preference, which the governor performance sets to performance, and any other sets back."""
    return Setting(
        id=_id(policy, "epp"),
        target=KernelFile((f"{_ROOT}/policy{policy.id}/{_FILES['epp'][0]}",), absent="its driver has no such file"),
        codec=Words(),
        want=None,
        phase=Phase.CPUFREQ,
        section="cpufreq",
        after=(_id(policy, "governor"),),
        family="cpufreq:epp",
    )


def _id(policy: Policy, name: str) -> SettingId:
    return SettingId(f"cpufreq:policy{policy.id}/{name}")


def _nowhere(name: str, asked: Asked[Any], context: Context) -> Setting:
    target = Nothing("unsupported", _without(context.topology))
    path = ("cpufreq", name)
    return wanted(context, path, asked, want=str(asked.value), target=target, codec=Words(), phase=Phase.CPUFREQ)


def _without(topology: Topology) -> str:
    if not topology.power.policies_told:
        return NOT_CAPTURED
    machine = topology.machine
    guest = machine.virt not in ("", "none")
    return f"no cpufreq here: the host of this {machine.virt} guest decides" if guest else "no cpufreq driver is loaded"


def _latency(section: CpuFreq, context: Context) -> Iterator[Setting]:
    """What lives while a file is open only."""
    asked = section.dma_latency_us
    if asked is not None:
        instead = "cpuidle: {resume_latency_us: ...} does the same by files that keep it"
        reason = f"a wish on {_DEVICE} lives while the file is open, so a unit of its own must hold it; {instead}"
        yield wanted(
            context,
            ("cpufreq", "dma_latency_us"),
            asked,
            want=str(asked.value),
            target=Nothing("unsupported", reason),
            codec=Int(),
            phase=Phase.CPUFREQ,
        )


KNOB: Final = Knob(
    name="cpufreq",
    model=CpuFreq,
    reads=frozenset({TopologySection.POWER}),
    settings=settings,
)
