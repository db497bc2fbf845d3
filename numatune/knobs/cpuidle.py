"""The part of cpufreq: that is about sleep: idle states by name, and how long a CPU may take to wake up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from numatune.knobs.base import Asked, Context, Section, wanted
from numatune.settings.codecs import Int
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import NOT_CAPTURED
from numatune.settings.targets import KernelFile, Nothing

_CPU: Final = "/sys/devices/system/cpu"
_STATE: Final = re.compile(r"[A-Za-z0-9_ .-]{1,16}", re.ASCII)
_LATENCY: Final = "pm_qos_resume_latency_us"


def _state(name: str) -> str:
    if not _STATE.fullmatch(name):
        raise ValueError(f"{name!r} is no idle state; accepted: its name, like C1E or C6, not its number")
    return name


class CpuIdle(Section):
    """``{disable: [C6]}``, or ``{resume_latency_us: 20}``.

    disable            states by name, in any case, that no CPU enters
    resume_latency_us  states that take longer to leave are not entered; 0: no limit
    """

    disable: Asked[list[Annotated[str, AfterValidator(_state)]]] | None = None
    resume_latency_us: Asked[Annotated[int, Field(ge=0, le=2_000_000_000)]] | None = None


def idle_settings(section: CpuIdle, context: Context) -> Iterator[Setting]:
    """One setting for each CPU and state; one row for a state that no CPU has."""
    if section.disable is not None:
        for name in section.disable.value:
            yield from _disabled(name, section.disable, context)
    if section.resume_latency_us is not None:
        for cpu in context.topology.cpus.online:
            path = ("cpufreq", "cpuidle", "resume_latency_us")
            file = KernelFile((f"{_CPU}/cpu{cpu}/power/{_LATENCY}",), absent="this kernel keeps no limit for a CPU")
            want = str(section.resume_latency_us.value)
            made = wanted(
                context, path, section.resume_latency_us, want=want, target=file, codec=Int(), phase=Phase.CPUFREQ
            )
            yield replace(made, id=SettingId(f"cpufreq:cpu{cpu}/resume_latency_us"), family="cpufreq:resume_latency_us")


def _disabled(name: str, asked: Asked[list[str]], context: Context) -> Iterator[Setting]:
    states = context.topology.power.idle_states
    none = "this host has no idle states" if context.topology.power.idle_states_told else NOT_CAPTURED
    made = wanted(
        context,
        ("cpufreq", "cpuidle", "disable"),
        asked,
        want="1",
        target=Nothing("unsupported", none),
        codec=Int(),
        phase=Phase.CPUFREQ,
    )
    meant = [state for state in states if state.name.lower() == name.lower()]
    if not meant:
        known = f"no idle state {name} here; there are {', '.join(dict.fromkeys(state.name for state in states))}"
        lacking = Nothing("unsupported", known if states else none)
        yield replace(made, id=SettingId(f"cpufreq:cpuidle/{name}"), want="disabled", target=lacking)
    for state in meant:
        for cpu in state.cpus:
            file = KernelFile((f"{_CPU}/cpu{cpu}/cpuidle/state{state.index}/disable",))
            sid = SettingId(f"cpufreq:cpu{cpu}/{state.name}")
            yield replace(made, id=sid, target=file, codec=Int(), family=f"cpufreq:{state.name} disabled")
