"""irqbalance, kept off the CPUs and interrupts that the profile places: three files of ours, none of anybody else's.

A drop-in adds one environment file to the unit. That file repeats the administrator's arguments, adds a policy script
to them, and names the CPUs. The script knows devices, not numbers: irqbalance calls it for each interrupt with the
device's sysfs path (irqbalance(1), --policyscript). A policy script of the administrator's own is asked for all others.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable

from numatune.cpus import CpuSet
from numatune.topology.irqbalance import DROP_IN, ENVIRONMENT, POLICY, UNIT
from numatune.topology.model import Irqbalance

__all__ = ["DROP_IN", "ENVIRONMENT", "POLICY", "UNIT", "drop_in", "environment", "policy"]

_OURS = "# Written by numatune, taken away by numatune rollback."


def drop_in() -> str:
    """The unit's drop-in: one more environment file, read after all others, so that what it sets counts."""
    return f"{_OURS}\n[Service]\nEnvironmentFile=-{ENVIRONMENT}\n"


def environment(told: Irqbalance, banned: CpuSet, width: int, script: str) -> str:
    """The environment file. `banned`: all CPUs to leave alone, none is said when empty; `width`: of a CPU mask here.

    The list is read by irqbalance 1.8 and later, the mask by all before. An empty list would mean that no CPU is
    banned, not even isolated ones, so it is never written.
    """
    lines = [
        _OURS,
        "# It is read after the unit's own environment files; the arguments that they give are repeated here.",
    ]
    if script and told.variable:
        lines.append(f"# {POLICY}: {hashlib.sha256(script.encode()).hexdigest()[:16]}")
        lines.append(f"{told.variable}={_quoted(f'{told.arguments} --policyscript={POLICY}'.strip())}")
    if banned:
        lines += [f"IRQBALANCE_BANNED_CPULIST={banned}", f"IRQBALANCE_BANNED_CPUS={banned.mask(width)}"]
    return "\n".join(lines) + "\n"


def policy(devices: Iterable[str], others: str) -> str:
    """The policy script: interrupts of `devices` (PCI addresses) stay where they are; `others`: whom else to ask.

    `others` is a file or a folder of scripts, of which the first that exits with 0 has the word; "" is nobody.
    """
    lines = ["#!/bin/sh", _OURS, 'case "${1##*/}" in']
    lines += [f"{'|'.join(sorted(set(devices)))})", "    echo ban=true", "    exit 0", "    ;;", "esac"]
    if others:
        theirs = shlex.quote(others)
        lines += [
            f"if [ -d {theirs} ]; then",
            f"    for script in {theirs}/*; do",
            '        [ -x "$script" ] && said=$("$script" "$@") && printf "%s\\n" "$said" && exit 0',
            "    done",
            f"elif [ -x {theirs} ]; then",
            f'    exec {theirs} "$@"',
            "fi",
        ]
    return "\n".join([*lines, "exit 0"]) + "\n"


def _quoted(value: str) -> str:
    """In double quotes, as systemd.exec(5) reads an environment file."""
    escaped = "".join(f"\\{character}" if character in '\\"`$' else character for character in value)
    return f'"{escaped}"'
