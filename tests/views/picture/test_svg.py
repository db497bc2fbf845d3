"""A picture as a document: well-formed, alone, readable in the light and in the dark, the same each time."""

from __future__ import annotations

import dataclasses
import re
from xml.etree import ElementTree as ET

import pytest
from fakes import topologies
from fakes.trees import host_tree, memory

from numatune.discover import discover
from numatune.topology.links import Link
from numatune.topology.model import Topology
from numatune.views.picture import svg
from numatune.views.picture.palette import COLOURS, TEXT_ON
from numatune.views.picture.style_sheet import style_sheet

SVG = "{http://www.w3.org/2000/svg}"


def parsed(found: Topology) -> ET.Element:
    return ET.fromstring(svg.topology(found, everything=True))  # noqa: S314  # our own output


def texts(element: ET.Element) -> list[str]:
    return [one.text or "" for one in element.iter(f"{SVG}text")]


def group(of: ET.Element, kind: str, key: str = "") -> ET.Element:
    """The one group of that kind and key."""
    found = [
        one
        for one in of.iter(f"{SVG}g")
        if kind in one.get("class", "").split() and (not key or one.get("data-key") == key)
    ]
    assert len(found) == 1, [one.attrib for one in found]
    return found[0]


HOSTS = {f"chance {seed}": topologies.topology(seed) for seed in range(12)} | topologies.viewed()


@pytest.mark.parametrize("found", HOSTS.values(), ids=HOSTS)
def test_any_host_is_a_document_on_its_own(found: Topology):
    text = svg.topology(found, everything=True)
    text.encode("utf-8")
    kinds = {element.tag for element in ET.fromstring(text).iter()}  # noqa: S314  # our own output
    assert kinds == {f"{SVG}{name}" for name in ("svg", "title", "desc", "style", "g", "rect", "text")}
    assert re.findall(r"https?:[^\"']+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|@import|@font-face|\x1b", text)


@pytest.mark.parametrize("seed", range(12))
def test_the_same_topology_gives_the_same_text(seed: int):
    assert svg.topology(topologies.topology(seed)) == svg.topology(topologies.topology(seed))


def test_what_changes_on_one_node_changes_no_line_of_another():
    found = discover(memory(host_tree(nodes=2, cpus_per_node=8)))
    fuller = (dataclasses.replace(found.nodes[0], free_bytes=1 << 30), found.nodes[1])
    before, after = (
        svg.topology(found).splitlines(),
        svg.topology(dataclasses.replace(found, nodes=fuller)).splitlines(),
    )
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert [other for _, other in changed] == [
        '<text x="0" y="10" font-size="10">16.0 GiB, 1.0 GiB free</text>',
        "<title>93 % used</title>",
        changed[2][1],
    ]
    assert changed[2][1].startswith("<rect width=")


def test_who_sees_no_picture_is_told_the_same():
    whole = parsed(discover(memory(host_tree(nodes=2, accelerators=2, nics=[{"node": -1, "bridge_node": -1}]))))
    assert whole.get("role") == "img"
    told = {one.get("id"): one.text for one in whole if one.tag in {f"{SVG}title", f"{SVG}desc"}}
    assert list(told) == (whole.get("aria-labelledby") or "").split()
    assert told["numatune-title"] == "NUMA topology: 2 packages, 2 nodes, 8 cores, 8 CPUs, 32.0 GiB"
    description = (told["numatune-desc"] or "").splitlines()
    assert "Node 0 (cpu+mem), CPUs 0-3, 16.0 GiB of memory, 1 accelerator device." in description
    assert "On no known node: 1 network device." in description


def test_memory_only_and_cpu_only_nodes_are_marked():
    whole = parsed(discover(memory(host_tree(nodes=1, memory_only=[2], cpu_only=[3], empty=[4, 5]))))
    assert "memory-only" in texts(group(whole, "node", "2"))
    assert "cpu-only" in texts(group(whole, "node", "3"))
    assert texts(group(whole, "node", "4-5")) == ["nodes 4-5", "empty"]
    assert "cpu+mem" not in texts(whole)


def test_memory_without_cpus_is_beside_the_package_that_it_is_nearest_to():
    near = [[10, 21, 17], [21, 10, 28], [17, 28, 10]]
    whole = parsed(discover(memory(host_tree(nodes=2, memory_only=[2], distances=near))))
    group(group(whole, "package", "0"), "node", "2")
    whole = parsed(discover(memory(host_tree(nodes=2, memory_only=[2]))))
    group(group(whole, "apart"), "node", "2")


def test_interrupts_that_run_on_another_node_are_told_on_their_device():
    found = discover(memory(host_tree(nodes=2, nics=[{"node": 0}, {"node": 1}])))
    whole = parsed(found)
    home, away = (texts(group(whole, "device", one.address)) for one in found.devices if one.kind == "nic")
    assert home[-2:] == ["5 interrupts", "1 on node 1"]
    assert away[-2:] == ["5 interrupts", "4 on node 0"]


def test_a_link_that_is_slower_than_its_device_is_told():
    found = discover(memory(host_tree(accelerators=1)))
    address = next(one.address for one in found.devices if one.kind == "accelerator")
    slow = Link(lanes=8, speed="16.0 GT/s PCIe", most_lanes=16, most_speed="16.0 GT/s PCIe")
    card = texts(group(parsed(dataclasses.replace(found, links={address: slow})), "device", address))
    assert card[4:6] == ["x8, 16.0 GT/s", "of x16, 16.0 GT/s"]


def test_every_colour_comes_with_one_for_readers_without_variables():
    sheet = style_sheet()
    for name, (light, dark) in COLOURS.items():
        assert f"--{name}:{light}" in sheet
        assert f"--{name}:{dark}" in sheet
    for kind, name in re.findall(r"(fill|stroke):var\(--([\w-]+)\)", sheet):
        assert f"{kind}:{COLOURS[name][0]};{kind}:var(--{name})" in sheet


@pytest.mark.parametrize("found", HOSTS.values(), ids=HOSTS)
def test_nothing_has_a_colour_but_one_for_the_light_and_one_for_the_dark(found: Topology):
    """What the style sheet forgets would be black on black in the dark."""
    whole = parsed(found)
    assert [one.attrib for one in whole.iter() if one.attrib.keys() & {"fill", "stroke", "style", "color"}] == []
    rules = [rule for rule in style_sheet().splitlines() if "{fill:" in rule]
    boxes = [set(names.split(".")) for rule in rules for names in re.findall(r"\.numatune \.([\w.-]+)>rect", rule)]
    drawn = {one.get("class", "") for one in whole.iter(f"{SVG}g") if one.find(f"{SVG}rect") is not None}
    assert [kind for kind in drawn if not any(names <= set(kind.split()) for names in boxes)] == []
    assert any(rule.startswith(".numatune text{") for rule in rules), "texts of no class of their own"


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(("ink", "paper"), [(ink, paper) for ink, papers in TEXT_ON.items() for paper in papers])
def test_letters_stand_out(ink: str, paper: str, mode: str):
    one, other = sorted(luminance(COLOURS[name][mode == "dark"]) for name in (ink, paper))
    assert (other + 0.05) / (one + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance of ``#rrggbb``."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
