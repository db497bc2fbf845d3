"""Every knob there is, one line each, in the order in which they make settings: a knob may look at what was made."""

from __future__ import annotations

from typing import Any

from numatune.knobs import (
    cpufreq,
    cpusets,
    hugepages,
    irq,
    kernel_cmdline,
    ksm,
    launch,
    modules,
    net_queues,
    sched_debug,
    services,
    shm,
    sysctl,
    thp,
    tiering,
    weighted_interleave,
    workqueues,
)
from numatune.knobs.base import Knob

KNOBS: tuple[Knob[Any], ...] = (
    modules.KNOB,
    sysctl.KNOB,
    thp.KNOB,
    ksm.KNOB,
    hugepages.KNOB,
    weighted_interleave.KNOB,
    irq.KNOB,
    net_queues.KNOB,
    workqueues.KNOB,
    cpusets.KNOB,
    tiering.KNOB,
    shm.KNOB,
    sched_debug.KNOB,
    cpufreq.KNOB,
    services.KNOB,
    kernel_cmdline.KNOB,
    launch.KNOB,
)
