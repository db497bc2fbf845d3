"""Frequency policies and idle states (Documentation/admin-guide/pm/cpufreq.rst, cpuidle.rst)."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.cpus import CpuSet
from numatune.discover.cpus import BASE
from numatune.discover.read import members, number, numbered, text
from numatune.host.protocol import Reader
from numatune.host.uncaptured import lacks
from numatune.topology.power import IdleState, Policy, Power


def power(reader: Reader, online: CpuSet) -> Power:
    """Of the CPUs that run; one that is offline has neither."""
    return Power(
        policies=tuple(_policies(reader, online)),
        idle_states=_idle_states(reader, online),
        policies_told=not lacks(f"{BASE}/cpufreq/policy0/scaling_driver", reader),
        idle_states_told=not lacks(f"{BASE}/cpu0/cpuidle/state0/name", reader),
    )


def _policies(reader: Reader, online: CpuSet) -> Iterator[Policy]:
    """Those of CPUs that run: the kernel keeps a policy without any, and answers its files with EBUSY."""
    for policy in members(reader.names(f"{BASE}/cpufreq"), "policy"):
        folder = f"{BASE}/cpufreq/policy{policy}"
        cpus = _cpus(reader, folder) or CpuSet([policy])
        if not cpus & online:
            continue
        yield Policy(
            id=policy,
            cpus=cpus,
            driver=text(reader, f"{folder}/scaling_driver") or "",
            governors=_words(reader, f"{folder}/scaling_available_governors"),
            preferences=_words(reader, f"{folder}/energy_performance_available_preferences"),
            lowest=number(reader, f"{folder}/cpuinfo_min_freq"),
            highest=number(reader, f"{folder}/cpuinfo_max_freq"),
        )


def _cpus(reader: Reader, folder: str) -> CpuSet:
    """``0 1 2 3``: these files have blanks where others have commas."""
    listed = text(reader, f"{folder}/related_cpus", f"{folder}/affected_cpus") or ""
    try:
        return CpuSet.parse(",".join(listed.split()))
    except ValueError:
        return CpuSet()


def _words(reader: Reader, path: str) -> tuple[str, ...]:
    return tuple((text(reader, path) or "").split())


def _idle_states(reader: Reader, online: CpuSet) -> tuple[IdleState, ...]:
    having: dict[tuple[int, str], list[int]] = {}
    for cpu in online:
        folder = f"{BASE}/cpu{cpu}/cpuidle"
        for index in numbered(reader.names(folder), "state"):
            if name := text(reader, f"{folder}/state{index}/name"):
                having.setdefault((index, name), []).append(cpu)
    return tuple(IdleState(name=name, index=index, cpus=CpuSet(cpus)) for (index, name), cpus in sorted(having.items()))
