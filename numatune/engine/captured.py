"""Whether a captured tree could tell of a file at all: what nobody captured is not what a kernel lacks."""

from __future__ import annotations

from numatune.host.protocol import Reader

_ALWAYS = ("/proc/cmdline", "/proc/irq", "/proc/sys/kernel", "/proc/sys/net", "/proc/sys/vm", "/sys/kernel/mm")
"""What every live Linux has, each with all that it holds in one capture or not at all."""

_HUGEPAGES = "/sys/kernel/mm/hugepages"
"""Captures made by hwloc hold these alone of /sys/kernel/mm."""


def lacks(path: str, reader: Reader) -> bool:
    """Whether the tree was captured without the part in which `path` would lie. A live host lacks no part."""
    if reader.live:
        return False
    if path.endswith("/msi_irqs"):
        return reader.stat(path) is None
    part = next((part for part in _ALWAYS if path == part or path.startswith(f"{part}/")), None)
    if part is None or path.startswith(f"{_HUGEPAGES}/"):
        return False
    only_hugepages = part == "/sys/kernel/mm" and set(reader.names(part)) <= {"hugepages"}
    return only_hugepages or reader.stat(part) is None
