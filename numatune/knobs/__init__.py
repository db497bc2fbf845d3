"""Every knob there is, one line each, in the order in which they make settings: a knob may look at what was made.

A knob is imported when its section is asked for: all of them together, and pydantic for them, are most of a start-up.
"""

from __future__ import annotations

import importlib
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numatune.knobs.base import Knob

SECTIONS: Final = (
    "expect",
    "modules",
    "sysctl",
    "thp",
    "ksm",
    "hugepages",
    "weighted_interleave",
    "irq",
    "net_queues",
    "workqueues",
    "cpusets",
    "tiering",
    "shm",
    "sched_debug",
    "cpufreq",
    "services",
    "kernel_cmdline",
    "launch",
)
"""The key of each knob's section, which is the name of its module too."""


def knobs(sections: Container[str] = SECTIONS) -> Iterator[Knob[Any]]:
    """The knobs of these sections, in their order; what is no section is not looked at."""
    for name in SECTIONS:
        if name in sections:
            yield importlib.import_module(f"numatune.knobs.{name}").KNOB
