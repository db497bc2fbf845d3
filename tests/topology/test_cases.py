"""Each file of cases/ is one host and what must be known of it.

tells: what the case shows
host:  arguments of fakes.trees.host_tree
tree:  {path: text} laid over it; null takes a path away, or all below one that ends in /
modes: {path: "0444"}
expect: a part of the topology's JSON; nodes by id, devices by address, interrupts by "address/index"
absent: {nodes: [...], devices: [...], interrupts: [...]} that must not be there
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.trees import Tree, host_tree, memory

from numatune.discover import discover
from numatune.views import topology_json

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


def tree_of(case: dict[str, Any]) -> Tree:
    tree = host_tree(**case.get("host", {}))
    for path, text in case.get("tree", {}).items():
        if text is not None:
            tree[path] = text
        for known in [known for known in tree if known == path or (path.endswith("/") and known.startswith(path))]:
            if text is None:
                del tree[known]
    tree.modes |= {path: int(mode, 8) for path, mode in case.get("modes", {}).items()}
    return tree


def keyed(data: dict[str, Any]) -> dict[str, Any]:
    return data | {
        "nodes": {node["id"]: node for node in data["nodes"]},
        "devices": {device["address"]: device for device in data["devices"]},
        "interrupts": {f"{irq['device']}/{irq['index']}": irq for irq in data["interrupts"]},
    }


def part(of: Any, wanted: Any) -> Any:
    """`of` cut down to what `wanted` names; an empty mapping names that there is nothing."""
    if wanted and isinstance(wanted, dict) and isinstance(of, dict):
        return {key: part(of.get(key, "not there"), value) for key, value in wanted.items()}
    return of


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path):
    case = yaml.safe_load(path.read_text())
    found = keyed(topology_json.topology(discover(memory(tree_of(case)))))
    assert case["tells"]
    assert part(found, case["expect"]) == case["expect"]
    for kind, ids in case.get("absent", {}).items():
        assert not set(ids) & found[kind].keys()
