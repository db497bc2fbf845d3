"""Each file of views/ is a generated host and the text that people see of it.

tells: what to look at;  host: arguments of host_tree;  tree: laid over it;  options: of the view;  text: all of it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes import topologies
from fakes.trees import host_tree, memory

from numatune.discover import discover
from numatune.views import topology_json
from numatune.views.style import Style
from numatune.views.topology_text import topology


def view(case: dict[str, Any]) -> str:
    options = dict(case.get("options", {}))
    return topology(topologies.of_case(case), Style(width=options.pop("width", 80)), **options)


@pytest.mark.parametrize("path", topologies.VIEWS, ids=lambda path: path.stem)
def test_view(path: Path):
    case = yaml.safe_load(path.read_text())
    assert case["tells"]
    assert view(case).splitlines() == case["text"].splitlines()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_of_nodes_and_distances_is_wider_than_the_terminal(width: int):
    found = discover(memory(host_tree(nodes=16, cpus_per_node=8, threads=2, numbering="interleaved")))
    assert max(map(len, topology(found, Style(width=width)).splitlines())) <= width


def test_no_name_moves_the_cursor():
    text = view({"host": {"nodes": 1, "nics": [{"name": "eth\x1b[2J0"}]}})
    assert "\x1b" not in text
    assert "eth?[2J0" in text


def test_colour_only_where_it_is_asked_for():
    found = discover(memory(host_tree()))
    assert "\x1b[1mNodes\x1b[0m" in topology(found, Style(colour=True))
    assert "\x1b" not in topology(found)


def test_json_of_every_section_is_json_and_holds_no_command_line():
    found = discover(memory(host_tree(nics=1, nvmes=1, cmdline="root=/dev/sda rd.luks.key=secret")))
    text = json.dumps(topology_json.topology(found, "somewhere"))
    assert "secret" not in text
    assert json.loads(text)["host"]["root"] == "somewhere"
    assert json.loads(text)["format"] == 1


def test_json_leaves_out_sections_that_were_not_looked_at():
    found = discover(memory(host_tree(nics=1)), ())
    assert topology_json.topology(found).keys() == {"format", "host", "cpus"}
