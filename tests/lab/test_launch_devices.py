"""Which device a rank takes: by launcher, order and name; one at no known node; what is hidden counts for the split."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import driver
from lab.machine import Machine
from lab.reports import failed
from lab.ssh import Answer

pytestmark = pytest.mark.lab

CASES = yaml.safe_load((Path(__file__).parent / "cases/devices.yaml").read_text(encoding="utf-8"))
GIVEN = ("0000:00:08.0", "0000:61:00.0", "0000:81:00.0")
SHOW = """sh -c 'echo "$NUMATUNE_PLACEMENT"; sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status'"""


def test_a_rank_takes_its_device(nps2: Machine) -> None:
    driver.give(nps2, GIVEN)
    told = nps2.batch({case["tells"]: command(case) for case in CASES})
    assert {case["tells"]: found for case in CASES if (found := difference(case, told[case["tells"]]))} == {}


def command(case: dict[str, Any]) -> str:
    names = shlex.join(f"{name}={value}" for name, value in case["environment"].items())
    return f"env CUDA_DEVICE_ORDER=PCI_BUS_ID {names} numatune run {shlex.join(case.get('options', []))} -- {SHOW}"


def difference(case: dict[str, Any], told: Answer) -> str:
    """What is not as the case says; "" if all is."""
    placement = case.get("placement")
    cpus = next((word[5:] for word in (placement or "").split() if word.startswith("cpus=")), "")
    wanted = Answer(
        case.get("code", 0),
        f"{placement}\n{cpus}\n" if placement else "",
        "".join(f"numatune: {line}\n" for line in case.get("says", [])),
    )
    return "" if told == wanted else f"{told}, not {wanted}"


@pytest.mark.matrix
def test_what_is_hidden_from_a_process_counts_for_the_split(single: Machine) -> None:
    """Two CPUs and two devices at one node: a process that sees one of them takes one CPU, and its own."""
    first, second = "0000:00:08.0", single.shape.address(single.shape.devices[0])
    driver.give(single, (first, second))
    order = "env CUDA_DEVICE_ORDER=PCI_BUS_ID"
    plan = f"{order} numatune place --cpu exclusive --json"
    told = single.batch(
        {
            "both": f"{plan} --ranks 2",
            "by number": f"CUDA_VISIBLE_DEVICES=1 {plan}",
            "by device file": f"rm /dev/nvidia0; {plan}; touch /dev/nvidia0; chmod 666 /dev/nvidia0",
            "cut for it": f"taskset --cpu-list 1 {plan}",
            "run": f"{order} CUDA_VISIBLE_DEVICES=1 numatune run --cpu exclusive --quiet -- {SHOW}",
        }
    )
    assert failed(told) == {}
    both, by_number, by_file, cut = (
        [(rank["devices"], rank["cpus"]) for rank in json.loads(told[name].out)["ranks"]]
        for name in ("both", "by number", "by device file", "cut for it")
    )
    assert both == [([first], "0"), ([second], "1")]
    assert by_number == by_file == [([second], "1")]
    assert cut == [([first], "1"), ([second], "1")]
    assert told["run"].out.splitlines()[1] == "1"
