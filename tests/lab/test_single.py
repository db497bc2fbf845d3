"""One node: most of NUMA tuning is moot there, and what is left goes on and comes off again."""

from __future__ import annotations

import json

import pytest

from lab.machine import Machine

pytestmark = [pytest.mark.lab, pytest.mark.matrix]

STATE = "python3 /opt/numatune/guest/state.py memory groups files"


def test_llm_inference_goes_on_and_comes_off(single: Machine) -> None:
    told = single.batch(
        {
            "before": STATE,
            "apply": "numatune apply llm-inference --yes --json",
            "verify": "numatune verify --json",
            "rollback": "numatune rollback --all --yes --json",
            "after": STATE,
        }
    )
    assert {name: (answer.code, answer.err) for name, answer in told.items()} == dict.fromkeys(told, (0, ""))
    assert json.loads(told["apply"].out)["host"]["nodes"] == "0"
    assert json.loads(told["verify"].out)["summary"]["differences"] == 0
    assert told["after"].out == told["before"].out
