"""What launchers and runtimes mean by their variables: ranks.yaml and visible.yaml hold the cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from numatune.launch.ranks import RankError, local_rank
from numatune.launch.visible import Accelerator, Seen, find, visible

HERE = Path(__file__).parent
UUIDS = {"a": "GPU-aa11", "b": "GPU-aa22", "c": "GPU-bb33bb33-0000-0000-0000-000000000000", "d": "GPU-cc44"}
ADDRESSES = {"0000:0a:00.0": "a", "0000:0b:00.0": "b", "0000:0c:00.0": "c", "0000:0d:00.0": "d", "": "?"}


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["tells"]) for case in yaml.safe_load((HERE / name).read_text())]


def texts(environment: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in environment.items()}


@pytest.mark.parametrize("case", cases("ranks.yaml"))
def test_rank(case: dict[str, Any]):
    strict = case.get("strict", False)
    if "error" in case:
        with pytest.raises(RankError) as refused:
            local_rank(texts(case["env"]), strict=strict)
        assert case["error"] in str(refused.value)
        return
    found = local_rank(texts(case["env"]), strict=strict)
    assert [found.rank, found.size] == case["is"]
    ignored = [step.result.partition("=")[0] for step in found.steps if "ignored" in step.result]
    assert ignored == case.get("ignored", [])
    assert found.alone == case.get("alone", False)


def accelerators(case: dict[str, Any]) -> tuple[Accelerator, ...]:
    return tuple(
        Accelerator(
            address=address,
            vendor=case["vendor"],
            uuid=UUIDS[letter] if case.get("uuids", True) else "",
            tiles=case.get("tiles", 1),
            part=part,
            parts=case.get("parts", 1),
        )
        for address, letter in ADDRESSES.items()
        for part in range(case.get("parts", 1))
        if letter in case.get("devices", "abcd")
    )


def shown(seen: Seen) -> str:
    part = "" if seen.parts == 1 else f"/{seen.part}:{seen.parts}"
    if seen == Seen("", 0, 0, seen.named):
        part = ""
    return ADDRESSES[seen.address] + part


@pytest.mark.parametrize("case", cases("visible.yaml"))
def test_visible(case: dict[str, Any]):
    found = visible(texts(case["env"]), accelerators(case))
    assert [shown(one) for one in found.devices] == case["is"]


def test_a_cut_list_says_where_it_was_cut():
    (step,) = visible({"CUDA_VISIBLE_DEVICES": "0,9,1"}, accelerators({"vendor": "10de"})).steps
    assert (step.result, step.reason) == ("0000:0a:00.0", "CUDA_VISIBLE_DEVICES=0,9,1 (cut at 9: there are 4)")


@pytest.mark.parametrize(
    ("named", "leads_to"),
    [
        ("1", "0000:0c:00.0"),
        ("7", None),
        ("0000:0B:00.0", "0000:0b:00.0"),
        ("00000000:0b:00.0", "0000:0b:00.0"),
        ("0b:00.0", "0000:0b:00.0"),
        ("0f:00.0", None),
        ("GPU-cc", "0000:0d:00.0"),
        ("GPU-aa", None),
        ("gpu", None),
    ],
)
def test_device_by_name(named: str, leads_to: str | None):
    given = accelerators({"vendor": "10de"})
    seen = visible({"CUDA_VISIBLE_DEVICES": "3,2"}, given).devices
    found = find(named, given, seen)
    assert (found.address if found else None) == leads_to


def test_of_two_vendors_the_one_whose_variable_is_set():
    nvidia = [Accelerator(address="0000:0a:00.0", vendor="10de"), Accelerator(address="0000:0b:00.0", vendor="10de")]
    amd = [Accelerator(address="0000:0c:00.0", vendor="1002")]
    assert [one.address for one in visible({}, [*nvidia, *amd]).devices] == ["0000:0a:00.0", "0000:0b:00.0"]
    both = visible({"ROCR_VISIBLE_DEVICES": "0"}, [*nvidia, *amd])
    assert [one.address for one in both.devices] == ["0000:0c:00.0"]
    assert both.vendor == "1002"
