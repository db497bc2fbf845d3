"""CPUs: one cell a CPU, the siblings of a core one below the other, the cores of an L3 in a frame."""

from __future__ import annotations

import math
from collections.abc import Sequence

from numatune.cpus import CpuSet
from numatune.views.arranged import Cluster
from numatune.views.picture.boxes import Box, Label, Placed
from numatune.views.picture.facts import CPU_SIZE, Facts
from numatune.views.picture.flow import Block, grid, rows
from numatune.views.picture.frames import framed
from numatune.views.picture.measure import text_width
from numatune.views.style import plural

_CELL, _BAR = 18, 3
_GAP = 3
_TALLEST = 4
"""Siblings above one another; a core of eight has two columns of them."""
_SHAPE, _ALONE = 2.0, 5.0
"""Width of a frame of cores to its height, about; of the only one of a node."""
_NAMED = 6
"""Interrupts that the text of a CPU names one by one."""


def clusters(inside: Sequence[Cluster], facts: Facts, width: int, *, packages: bool) -> Block:
    """Frames of cores in rows. `packages`: say of each which package it is of."""
    shape = _SHAPE if len(inside) > 1 else _ALONE
    return rows([_cluster(one, facts, width, shape, package=packages) for one in inside], width, 8)


def _cluster(cluster: Cluster, facts: Facts, width: int, shape: float, *, package: bool) -> Box:
    cores = [_core(core, facts) for core in cluster.cores]
    widest, tallest = max(core.width for core in cores), max(core.height for core in cores)
    columns = _columns(len(cores), widest + _GAP, tallest + _GAP, width - 12 + _GAP, shape)
    told = _told(cluster, package=package)
    lines = [(text, "faint", 9) for text in told]
    plain = cluster.l3 is None and not cluster.l3_each
    tip = f"{plural(len(cores), 'core')}, CPUs {cluster.cpus}"
    if cluster.l3 is not None:
        tip += f"\nL3 of CPUs {cluster.l3}"
    box = Box(kind="cluster none" if plain else "cluster", key=str(cluster.cpus), tip=tip)
    return framed(box, lines, grid(cores, columns, _GAP), pad=6)


def _told(cluster: Cluster, *, package: bool) -> list[str]:
    words = [f"package {cluster.package}"] if package and cluster.package is not None else []
    if cluster.l3_each:
        words.append("L3 each")
    elif cluster.l3 is not None:
        words.append("L3" if cluster.l3 <= cluster.cpus else "L3, shared")
    return words


def _core(cpus: CpuSet, facts: Facts) -> Box:
    high = min(len(cpus), _TALLEST)
    cells = tuple(
        Placed(1 + place // high * (facts.cpu_width + 1), 1 + place % high * (_CELL + 1), _cpu(cpu, facts))
        for place, cpu in enumerate(cpus)
    )
    return Box(
        kind="core",
        key=str(cpus),
        width=max(cell.right for cell in cells) + 1,
        height=max(cell.below for cell in cells) + 1,
        children=cells,
    )


def _cpu(cpu: int, facts: Facts) -> Box:
    cpus, served = facts.found.cpus, facts.by_cpu.get(cpu, ())
    text = str(cpu)
    label = Label(x=(facts.cpu_width - text_width(text, CPU_SIZE)) // 2, y=12, text=text, size=CPU_SIZE)
    marks = [word for word, some in (("isolated", cpus.isolated), ("nohz_full", cpus.nohz_full)) if cpu in some]
    tip = [", ".join([f"CPU {cpu}", *marks])]
    if served:
        tip.append(plural(len(served), "interrupt of a device" if len(served) == 1 else "device interrupt"))
        tip += [irq.name or f"{irq.device} vector {irq.index}" for irq in served[:_NAMED]]
        tip += [f"and {len(served) - _NAMED} more"] if len(served) > _NAMED else []
    bar = () if not served else (Placed(2, _CELL - _BAR - 1, _bar(len(served), facts)),)
    return Box(
        kind=" ".join(["cpu", *marks]),
        key=text,
        width=facts.cpu_width,
        height=_CELL,
        tip="\n".join(tip),
        labels=(label,),
        children=bar,
    )


def _bar(count: int, facts: Facts) -> Box:
    longest = facts.cpu_width - 4
    return Box(kind="irqs", width=max(round(longest * count / facts.busiest), 2), height=_BAR)


def _columns(count: int, width: int, height: int, room: int, shape: float) -> int:
    """How many cores a row: near that shape, few empty places, never wider than the room."""

    def cost(columns: int) -> float:
        lines = -(-count // columns)
        found = columns * width / (lines * height)
        return abs(math.log(found / shape)) + 2 * (1 - count / (lines * columns))

    return min(range(1, min(count, max(room // width, 1)) + 1), key=cost)
