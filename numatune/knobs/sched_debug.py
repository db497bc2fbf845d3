"""sched_debug: how automatic NUMA balancing scans, by files of debugfs. For experts, with --allow-debugfs only.

Linux 5.13 moved these values there from sysctl and lost their checks on the way: scan_size_mb 0 divides by zero at the
next fork (seen on 6.1, 6.18 and 7.3). numatune keeps each within bounds; what is bound or interleaved is not scanned
anyway, and no shipped profile sets them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field

from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Refused, Section, wanted
from numatune.settings.codecs import Int
from numatune.settings.model import Phase, Refuse, Setting, SettingId
from numatune.settings.targets import DEBUGFS, KernelFile

_ROOT: Final = f"{DEBUGFS}sched/numa_balancing"
_ABSENT: Final = "debugfs is not mounted, or this kernel has no such file there (Linux 5.13 and later have)"
_WHY_NOT: Final = "debugfs is for developers, and the kernel checks nothing there"
_HOUR: Final = 3_600_000

Delay = Annotated[int, Field(ge=0, le=_HOUR)]
Period = Annotated[int, Field(ge=1, le=_HOUR)]


class NumaBalancing(Section):
    """Scanning for pages that are used from afar. Milliseconds, and MB a scan."""

    scan_delay_ms: Asked[Delay] | None = None
    scan_period_max_ms: Asked[Period] | None = None
    scan_period_min_ms: Asked[Period] | None = None
    scan_size_mb: Asked[Annotated[int, Field(ge=1, le=65536)]] | None = None
    hot_threshold_ms: Asked[Delay] | None = None


class SchedDebug(Section):
    """``{numa_balancing: {scan_delay_ms: 1000}}``; the two periods are given together."""

    numa_balancing: NumaBalancing = NumaBalancing()


def settings(section: SchedDebug, context: Context) -> tuple[Setting, ...]:
    """One setting for each key."""
    asked = section.numa_balancing
    _check(asked)
    wishes = ((name, getattr(asked, name)) for name in NumaBalancing.model_fields)
    return tuple(_setting(name, one, context) for name, one in wishes if one is not None)


def _check(asked: NumaBalancing) -> None:
    """The two periods, which the host's own values cannot be weighed against before it is looked at."""
    least, most = asked.scan_period_min_ms, asked.scan_period_max_ms
    if (least is None) is not (most is None):
        given, missing = ("min", "max") if least else ("max", "min")
        path = ("numa_balancing", f"scan_period_{given}_ms")
        raise Refused((path, Problem("", f"alone, without scan_period_{missing}_ms", "both, the smaller one as min")))
    if least and most and least.value > most.value:
        found = f"{least.value} above scan_period_max_ms: {most.value}"
        raise Refused((("numa_balancing", "scan_period_min_ms"), Problem("", found, f"up to {most.value}")))


def _setting(name: str, asked: Asked[Any], context: Context) -> Setting:
    made = wanted(
        context,
        ("sched_debug", "numa_balancing", name),
        asked,
        want=str(asked.value),
        target=KernelFile((f"{_ROOT}/{name}",), absent=_ABSENT),
        codec=Int(),
        phase=Phase.BALANCING,
    )
    outer = SettingId("sched_debug:numa_balancing/scan_period_max_ms") if name == "scan_period_min_ms" else None
    return replace(made, guard=Refuse(_WHY_NOT), inside=outer)


KNOB: Final = Knob(name="sched_debug", model=SchedDebug, reads=frozenset(), settings=settings)
