"""Three kernels in one shape: what each has and refuses, and that the same profile goes on, holds and comes off."""

from __future__ import annotations

import errno
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab.kernels import SUITES
from lab.machine import Machine
from lab.shapes import NPS2
from lab.ssh import Answer
from lab.warm import machine

pytestmark = pytest.mark.lab

STATE = "python3 /opt/numatune/guest/state.py memory groups files"
# Newest last: what a kernel has, the later ones have too.
SINCE = {
    "6.1": ("/sys/devices/virtual/memory_tiering", "/sys/kernel/mm/numa/demotion_enabled"),
    "6.12": ("/sys/kernel/mm/mempolicy/weighted_interleave", "/sys/kernel/mm/transparent_hugepage/hugepages-64kB"),
    "newest": ("/sys/kernel/mm/mempolicy/weighted_interleave/auto",),
}
# What comes of a write to the mask of each interrupt of the NVMe disk: its queues', one a CPU, are the kernel's own.
MANAGED = """
import os, pathlib
for vector in pathlib.Path("/sys/bus/pci/devices/{address}/msi_irqs").iterdir():
    try:
        os.write(os.open(f"/proc/irq/{{vector.name}}/smp_affinity_list", os.O_WRONLY), b"0-3")
    except OSError as error:
        print(error.errno)
    else:
        print("taken")
"""


@pytest.fixture(scope="module", params=SUITES)
def told(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, Answer]]]:
    kernel: str = request.param
    with machine(NPS2, kernel) as made:
        yield kernel, answers(made)


def answers(made: Machine) -> dict[str, Answer]:
    made.ssh.put({"/root/managed.py": MANAGED.format(address=NPS2.address(NPS2.device("nvme")))})
    paths = " ".join(itertools.chain.from_iterable(SINCE.values()))
    return made.batch(
        {
            "paths": f"for path in {paths}; do test ! -e $path || echo $path; done",
            "managed": "python3 /root/managed.py",
            "before": STATE,
            "apply": "numatune apply llm-inference --yes --json",
            "again": "numatune apply llm-inference --yes --json",
            "verify": "numatune verify --json",
            "rollback": "numatune rollback --all --yes --json",
            "after": STATE,
        }
    )


def test_what_a_kernel_has(told: tuple[str, dict[str, Answer]]) -> None:
    kernel, answered = told
    names = list(SINCE)
    wanted = [path for name in names[: names.index(kernel) + 1] for path in SINCE[name]]
    assert answered["paths"].out.split() == wanted


def test_a_managed_interrupt_refuses_with_the_error_of_its_time(told: tuple[str, dict[str, Answer]]) -> None:
    kernel, answered = told
    refused = str(errno.EIO if kernel == "6.1" else errno.EPERM)
    assert sorted(answered["managed"].out.split()) == sorted(["taken", *[refused] * len(NPS2.nodes)])


def test_llm_inference_goes_on_holds_and_comes_off(told: tuple[str, dict[str, Answer]]) -> None:
    _, answered = told
    steps = ("apply", "again", "verify", "rollback")
    assert {name: (answered[name].code, answered[name].err) for name in steps} == dict.fromkeys(steps, (0, ""))
    again: dict[str, Any] = json.loads(answered["again"].out)
    assert again["run"] is None
    assert json.loads(answered["verify"].out)["summary"]["differences"] == 0
    assert answered["after"].out == answered["before"].out
