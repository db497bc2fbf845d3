"""Devices of a guest as accelerators that NVIDIA's driver gives out: its folder in /proc, and its device files.

Neither is more than what numatune looks at; addresses, and the nodes that they lead to, are the guest's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from lab.machine import Machine

GPUS = "/proc/driver/nvidia/gpus"


def give(made: Machine, addresses: Iterable[str]) -> None:
    """Until the machine is reset. The n-th is /dev/nvidia<n>, by name GPU-<n> and zeros."""
    lines = ["mountpoint -q /proc/driver || mount -t tmpfs driver /proc/driver", f"rm -rf {GPUS} /dev/nvidia*"]
    for minor, address in enumerate(addresses):
        lines += [
            f"mkdir -p {GPUS}/{address}",
            f"printf 'GPU UUID: {uuid(minor)}\\nDevice Minor: {minor}\\n' > {GPUS}/{address}/information",
            f"touch /dev/nvidia{minor}; chmod 666 /dev/nvidia{minor}",
        ]
    made.run("\n".join(lines))


def uuid(minor: int) -> str:
    """Its name."""
    return f"GPU-{minor}0000000-0000-0000-0000-000000000000"
