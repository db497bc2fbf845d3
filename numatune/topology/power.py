"""How fast CPUs run and how deep they sleep, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from numatune.cpus import CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """CPUs that share one frequency (/sys/devices/system/cpu/cpufreq/policyN).

    cpus         that it is for, online or not
    governors, preferences   words that its driver offers; () when nothing tells
    lowest, highest   kHz between which the hardware runs, None when nothing tells
    """

    id: int
    cpus: CpuSet
    driver: str = ""
    governors: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleState:
    """An idle state, which `cpus` have as their state `index`: the same name may stand elsewhere on other CPUs."""

    name: str
    index: int
    cpus: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Frequency policies by number, and idle states by index and name. Both are empty in most virtual machines.

    policies_told, idle_states_told  False: the tree was captured without them
    """

    policies: tuple[Policy, ...] = ()
    idle_states: tuple[IdleState, ...] = ()
    policies_told: bool = True
    idle_states_told: bool = True
