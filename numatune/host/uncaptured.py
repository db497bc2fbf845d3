"""Whether a captured tree could tell of a file at all: what nobody captured is not what a kernel lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from numatune.host.protocol import Reader

_CPU = "/sys/devices/system/cpu"
_ALWAYS = (
    *("/proc/cmdline", "/proc/irq", "/proc/sys/kernel", "/proc/sys/net", "/proc/sys/vm"),
    *("/sys/devices/virtual/workqueue", "/sys/kernel/mm", "/sys/module"),
    f"{_CPU}/cpufreq",
)
"""What every live Linux has, each with all that it holds in one capture or not at all."""

_OF_EACH = (
    (re.compile(f"{_CPU}/cpu[0-9]+/cpuidle/.*"), f"{_CPU}/cpuidle"),
    (re.compile(f"({_CPU}/cpu[0-9]+/power)/.*"), r"\1"),
    (re.compile("(.*/msi_irqs)"), r"\1"),
)
"""What a CPU or a device may have, and the folder that a tree has when it was captured with such things."""

_HUGEPAGES = "/sys/kernel/mm/hugepages"
"""Captures made by hwloc hold these alone of /sys/kernel/mm."""


def lacks(path: str, reader: Reader) -> bool:
    """Whether the tree was captured without the part in which `path` would lie. A live host lacks no part.

    A capture of numatune's own says what it looked for; of another's the parts that are there tell.
    """
    if reader.live:
        return False
    from numatune.host.told import MANIFEST  # noqa: PLC0415  # a live host needs none of it

    if manifest := reader.read(MANIFEST).text:
        return path.startswith("/") and not _looked_for(manifest)(path)
    part = _part(path)
    if not part or path.startswith(f"{_HUGEPAGES}/"):
        return False
    only_hugepages = part == "/sys/kernel/mm" and set(reader.names(part)) <= {"hugepages"}
    return only_hugepages or reader.stat(part) is None


def _part(path: str) -> str:
    """The folder that tells whether the tree was captured with such files as `path`, "" where none does."""
    for files, folder in _OF_EACH:
        if files.fullmatch(path):
            return files.sub(folder, path)
    return next((part for part in _ALWAYS if path == part or path.startswith(f"{part}/")), "")


@lru_cache(maxsize=1)
def _looked_for(manifest: str) -> Callable[[str], object]:
    """Whether a path is one of those that the capture asked for. `*` stays within one part of it."""
    from numatune.host.told import parsed  # noqa: PLC0415  # as above

    globs = parsed(manifest, "").globs
    return re.compile(
        "|".join(re.escape(glob).replace(r"\*", "[^/]*").replace(r"\[0\-9\]", "[0-9]") for glob in globs)
    ).fullmatch
