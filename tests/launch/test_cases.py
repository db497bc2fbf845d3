"""Each file of cases/ is a host, an environment and a policy, and where the ranks then belong.

tells    what the case shows
source   the report that it comes from
capture  name of a captured host, or
shape    a host by hand: see hosts.py
env      the environment of the process
allowed  {cpus, mems}: what affinity and cpuset leave; default: the whole host
policy   fields of Policy; sets as lists, ranks: {N: {node, cpus, memory, device}}
ranks    rank (or `none`) -> what is expected of it: devices, node, cpus, memory "mode nodes", nics, env,
         steps: texts that must be found in the steps, warns: texts that must be found in those that warn;
         refused: text of the error
each     the same for every rank of a list, for what they have in common
size     how many ranks there are (for ranks by number)
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch.hosts import CAPTURES, captured, cpu_set, given, shaped

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch.devices import Found
from numatune.launch.model import Placement, Process
from numatune.launch.placement import place
from numatune.launch.policy import Policy, RankPolicy
from numatune.launch.ranks import Rank, RankError, local_rank
from numatune.launch.visible import visible
from numatune.topology.model import Topology

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
SETS = {"cpus", "memory_nodes"}


def policy_of(given: dict[str, Any]) -> Policy:
    made = {key: CpuSet.parse(str(value)) if key in SETS else value for key, value in given.items()}
    if "ranks" in made:
        made["ranks"] = {rank: rank_of(row) for rank, row in made["ranks"].items()}
    if "others" in made:
        made["others"] = rank_of(made["others"])
    if "fallback" in made:
        made["fallback"] = tuple(made["fallback"])
    return Policy(**made)


def rank_of(row: dict[str, Any]) -> RankPolicy:
    sets = {"cpus", "memory"}
    return RankPolicy(**{key: CpuSet.parse(str(value)) if key in sets else value for key, value in row.items()})


def placed(case: dict[str, Any], topology: Topology, rank: object) -> Placement:
    policy, environment = policy_of(case.get("policy", {})), {k: str(v) for k, v in case.get("env", {}).items()}
    if rank == "env":
        who = local_rank(environment, strict=policy.strict)
    else:
        who = Rank(None if rank == "none" else int(str(rank)), case.get("size"))
    found = captured(case["capture"])[1] if "capture" in case else Found(given(topology, case["shape"]))
    seen = visible(environment, found.given)
    allowed = case.get("allowed", {})
    process = Process(
        rank=who,
        cpus=cpu_set(allowed["cpus"]) if "cpus" in allowed else topology.cpus.online - topology.cpus.isolated,
        mems=cpu_set(allowed["mems"]) if "mems" in allowed else CpuSet(node.id for node in topology.nodes),
        seen=seen.devices,
        accelerators=found.given,
        kin=found.kin,
        caller=frozenset(environment),
    )
    made = place(topology, process, policy)
    return dataclasses.replace(made, steps=(*seen.steps, *made.steps))


def told(made: Placement, wanted: dict[str, Any]) -> dict[str, Any]:
    """What a placement says of what the case names."""
    known: dict[str, Any] = {
        "rank": made.rank,
        "devices": list(made.devices),
        "node": made.node,
        "cpus": str(made.cpus),
        "bound": made.bound,
        "memory": f"{made.memory.mode} {made.memory.nodes}".strip(),
        "nics": list(made.nics),
        "env": dict(made.env),
    }
    every = [f"{one.step}: {one.result}: {one.reason}" for one in made.steps]
    warnings = [f"{one.step}: {one.result}: {one.reason}" for one in made.steps if one.warns]
    known["steps"] = [text for text in wanted.get("steps", ()) if any(text in line for line in every)] or every
    known["warns"] = [text for text in wanted.get("warns", ()) if any(text in line for line in warnings)] or warnings
    return {key: known[key] for key in wanted}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path):
    case = yaml.safe_load(path.read_text())
    assert case["tells"]
    assert case.get("ranks") or case.get("each")
    if "capture" in case and not (CAPTURES / f"{case['capture']}.tar.xz").is_file():
        pytest.skip(f"no captured host {case['capture']} in {CAPTURES}")
    topology = captured(case["capture"])[0] if "capture" in case else shaped(case["shape"])
    rows = dict(case.get("ranks", {}))
    for rank in case.get("each", {}).get("ranks", ()):
        rows.setdefault(rank, {})
        rows[rank] = {**case["each"]["expect"], **rows[rank]}
    for rank, wanted in rows.items():
        if "refused" in wanted:
            with pytest.raises((LaunchError, RankError)) as refused:
                placed(case, topology, rank)
            assert wanted["refused"] in str(refused.value)
            continue
        expected = {**wanted, "cpus": str(CpuSet.parse(str(wanted["cpus"])))} if "cpus" in wanted else wanted
        assert {"rank": rank, **told(placed(case, topology, rank), expected)} == {"rank": rank, **expected}
