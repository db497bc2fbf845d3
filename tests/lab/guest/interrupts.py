"""Prints what the kernel says of each message-signalled interrupt, as JSON: device/vector -> what /proc/irq/N has.

It runs inside a guest and shares no code with numatune.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MSI_VECTOR = 0x7FF  # of a device's hwirq: Linux drivers/pci/msi/irqdomain.c


def text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


def counts() -> dict[str, list[int]]:
    """How often each has come, by CPU."""
    head, *rows = Path("/proc/interrupts").read_text(encoding="ascii").splitlines()
    width = len(head.split())
    split = (row.split() for row in rows)
    return {words[0].rstrip(":"): [int(word) for word in words[1 : width + 1] if word.isdecimal()] for words in split}


def interrupts() -> dict[str, dict[str, object]]:
    came = counts()
    found = {}
    for path in sorted(Path("/sys/bus/pci/devices").glob("*/msi_irqs/*")):
        number = path.name
        about = Path("/sys/kernel/irq", number)
        folder = Path("/proc/irq", number)
        found[f"{path.parts[-3]}/{int(text(about / 'hwirq') or '0') & MSI_VECTOR}"] = {
            "number": int(number),
            "name": text(about / "actions"),
            "asked": text(folder / "smp_affinity_list"),
            "effective": text(folder / "effective_affinity_list"),
            "writable": bool((folder / "smp_affinity_list").stat().st_mode & 0o200),
            "came": came.get(number, []),
        }
    return found


if __name__ == "__main__":
    json.dump(interrupts(), sys.stdout)
