"""The table of placements at a width, and its warnings."""

from __future__ import annotations

import pytest

from numatune.cpus import CpuSet
from numatune.launch.model import Memory, Placement
from numatune.launch.step import Step
from numatune.views.placement_text import placements
from numatune.views.style import Style

EIGHT = tuple(f"0000:{bus}:00.0" for bus in ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"))
NODES = Memory("preferred-many", CpuSet(range(4)))


def rank(number: int | None, *steps: Step, devices: tuple[str, ...] = EIGHT[:1], **more: object) -> Placement:
    return Placement(
        rank=number, devices=devices, node=0, cpus=CpuSet(range(128)), bound=True, memory=NODES, steps=steps, **more
    )


def crowded(cpus: str) -> Step:
    return Step("cpus", cpus, "more ranks than cores at node 0: they share", warns=True)


@pytest.mark.parametrize("width", [80, 100, 60])
@pytest.mark.parametrize(
    "more", [{"nics": ("hsi0", "hsi1", "ens2", "hsi2", "hsi3")}, {"env": {"A": "1", "B": "22"}}, {}]
)
def test_several_addresses_in_one_cell_are_wrapped(width: int, more: dict[str, object]):
    lines = placements([rank(None, devices=EIGHT, **more)], Style(width=width)).splitlines()
    at = lines[0].index("devices")
    assert "  ".join(line[at:].partition("  ")[0] for line in lines[1:]).split() == list(EIGHT)
    if width >= 80:
        assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    assert {*more.get("nics", ()), *(f"{name}={text}" for name, text in more.get("env", {}).items())} <= {*words}


def test_what_fits_is_one_line():
    lines = placements([rank(None, devices=EIGHT, nics=("hsi0",))], Style(width=200)).splitlines()
    assert len(lines) == 2
    assert " ".join(EIGHT) in lines[1]


def test_alike_warnings_of_several_ranks_are_one_line():
    made = [rank(number, crowded(str(number % 2)), Step("node", "0", "by numa_node")) for number in range(8)]
    made[3] = rank(3, *made[3].steps, Step("memory", "none", "why", warns=True))
    told = placements(made, Style()).split("\n\n", 1)[1]
    shared = "  cpus 0, 1: more ranks than cores at node 0: they share"
    assert told == f"Ranks 0-7\n{shared}\n\nRank 3\n  memory none: why"
    at_length = placements(made, Style(), verbose=True)
    assert at_length.count("they share") == 8
    assert "Rank 7\n  cpus 1: more ranks" in at_length
    assert "This process\n  cpus 0: more ranks" in placements([rank(None, crowded("0"))], Style())
