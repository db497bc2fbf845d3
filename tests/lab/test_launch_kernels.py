"""The oldest and the newest kernel: what they know of memory policies is in force, and what they lack is said.

What is there on 6.12 all other tests of launches show.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import driver
from lab.launched import LAUNCHES, PROGRAM, differences
from lab.shapes import NPS2
from lab.warm import machine

pytestmark = pytest.mark.lab

CASES: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "cases/launch_kernels.yaml").read_text(encoding="utf-8")
)
WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"


@pytest.mark.parametrize("kernel", CASES)
def test_what_a_kernel_knows_is_in_force_and_what_it_lacks_is_said(kernel: str) -> None:
    launches = CASES[kernel]["launches"]
    asked = [
        {"options": one["options"], "ranks": 2, "only": [0], "plan": False, "program": PROGRAM} for one in launches
    ]
    with machine(NPS2, kernel) as guest:
        driver.give(guest, [guest.shape.address(guest.shape.device("virtio-gpu-pci"))])
        guest.ssh.put({"/root/cases.json": json.dumps(asked)})
        told = guest.batch(
            {
                "weights": f"cat {WEIGHTS}/node[0-9]* 2>/dev/null || echo 0 0 0 0",
                "launches": f"{LAUNCHES} < /root/cases.json",
                "buffers": "python3 /opt/numatune/guest/buffers.py",
            }
        )
    weights = {node: int(weight) for node, weight in enumerate(told["weights"].out.split())}
    wrong = [
        (one["options"], found)
        for one, answer in zip(launches, json.loads(told["launches"].out), strict=True)
        if (found := [*differences(one, answer["runs"][0], weights)])
    ]
    assert wrong == []
    buffers = json.loads(told["buffers"].out)
    assert {buffers[f"weights, {kind}"]["said"] for kind in ("private", "shared")} == {CASES[kernel]["buffers"]}
