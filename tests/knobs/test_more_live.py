"""Kernel files of smaller knobs on this machine: planned, written, read back, given back. All is put back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.road import Road, actions

from numatune.cpus import CpuSet
from numatune.host.local import LocalHost
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Status

HOST = LocalHost()
LAST = CpuSet.parse(HOST.read("/sys/devices/system/cpu/online").text or "0").last
FLIPPED = {"0": "1", "1": "0", "true": "false", "false": "true"}
SYS = Path("/sys")

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="writes to the kernel: needs root"),
]

CASES = {
    "kernel/mm/numa/demotion_enabled": ("tiering: {demotion: VALUE}", "tiering:demotion"),
    "kernel/mm/ksm/use_zero_pages": ("ksm: {use_zero_pages: VALUE}", "ksm:use_zero_pages"),
    "kernel/mm/ksm/sleep_millisecs": ("ksm: {sleep_millisecs: 21}", "ksm:sleep_millisecs"),
    "kernel/mm/ksm/merge_across_nodes": ("ksm: {merge_across_nodes: VALUE}", "ksm:merge_across_nodes"),
    "devices/virtual/workqueue/cpumask": (f"workqueues: {{cpumask: {LAST}}}", "workqueues:cpumask"),
    "devices/virtual/workqueue/writeback/cpumask": (
        f"workqueues: {{queues: {{writeback: {LAST}}}}}",
        "workqueues:queues/writeback",
    ),
}
"""Below /sys: the section that asks for another value (VALUE: the other of two), and its setting."""


@pytest.fixture(params=CASES)
def file(request: pytest.FixtureRequest) -> Iterator[Path]:
    """One that this kernel has; it is as before whatever a test does."""
    path = SYS / request.param
    if not path.exists():
        pytest.skip("this kernel has no such file")
    if "cpumask" in path.name and LAST == 0:
        pytest.skip("one CPU has one mask")
    before = path.read_text(encoding="ascii")
    yield path
    if path.read_text(encoding="ascii") != before:
        path.write_text(before, encoding="ascii")


def test_it_goes_and_comes_back(file: Path, tmp_path: Path):
    section, name = CASES[str(file.relative_to(SYS))]
    before = file.read_text(encoding="ascii")
    section = section.replace("VALUE", FLIPPED.get(before.strip(), before.strip()))
    road, sid = Road(HOST, tmp_path), SettingId(name)

    planned = road.plan(section)
    assert (planned[sid].status, planned[sid].action) == (Status.DRIFTED, Action.UPDATE)
    assert road.apply(planned)[sid].status is Status.OK
    assert file.read_text(encoding="ascii") != before
    assert actions(road.plan(section)) == {Action.NONE}
    assert road.rollback() == ()
    assert file.read_text(encoding="ascii") == before
