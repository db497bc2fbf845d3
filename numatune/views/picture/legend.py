"""What the colours and marks mean; only those that are on the page."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.views.picture.boxes import Box, Label, Placed
from numatune.views.picture.devices import KINDS
from numatune.views.picture.facts import Facts
from numatune.views.picture.flow import rows
from numatune.views.picture.frames import framed
from numatune.views.picture.measure import text_width

_SAMPLE, _HIGH, _SIZE = 18, 18, 10


def legend(facts: Facts, width: int) -> Box:
    """A frame with a sample and a word of each, `width` wide."""
    entries = [_entry(kind, text, children) for kind, text, children in _entries(facts)]
    return framed(Box(kind="legend", width=width), [("legend", "title", 12)], rows(entries, width - 20, 10), pad=10)


def _entries(facts: Facts) -> Iterator[tuple[str, str, tuple[Placed, ...]]]:
    cpus = facts.found.cpus
    if any(len(core.cpus) > 1 for core in cpus.cores):
        pair = (Placed(1, 1, _cell("cpu", 16, 7)), Placed(1, 10, _cell("cpu", 16, 7)))
        yield "core", "core with its SMT siblings", pair
    else:
        yield "core", "core", (Placed(1, 1, _cell("cpu", 16, 16)),)
    if cpus.l3:
        yield "cluster", "cores that share an L3", ()
    if cpus.isolated:
        yield "cpu isolated", "isolated CPU", ()
    if cpus.nohz_full - cpus.isolated:
        yield "cpu nohz_full", "CPU without a tick (nohz_full)", ()
    if facts.by_cpu:
        text = f"bar in a CPU: device interrupts it serves, {facts.busiest} at most"
        yield "cpu", text, (Placed(2, _HIGH - 4, _cell("irqs", 11, 3)),)
    if any(node.memory_bytes and node.free_bytes is not None for node in facts.found.nodes):
        yield (
            "room",
            "memory, filled: used; length: share of the largest node",
            (Placed(0, 0, _cell("used", 10, _HIGH)),),
        )
    if any(node.memory_bytes and node.free_bytes is None for node in facts.found.nodes):
        yield "room unknown", "memory, use not told; length: share of the largest node", ()
    for kind, name in KINDS.items():
        if any(device.kind == kind for device in facts.devices):
            yield f"device {kind}", name, ()


def _cell(kind: str, width: int, height: int) -> Box:
    return Box(kind=f"{kind} sample", width=width, height=height)


def _entry(kind: str, text: str, children: tuple[Placed, ...]) -> Box:
    sample = Box(kind=f"{kind} sample", width=_SAMPLE, height=_HIGH, children=children)
    label = Label(x=_SAMPLE + 6, y=13, text=text, kind="faint", size=_SIZE)
    return Box(
        kind="entry",
        width=label.x + text_width(text, _SIZE),
        height=_HIGH,
        labels=(label,),
        children=(Placed(0, 0, sample),),
        drawn=False,
    )
