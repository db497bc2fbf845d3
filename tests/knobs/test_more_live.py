"""Kernel files of smaller knobs on this machine: planned, written, read back, given back. All is put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
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
    "bus/pci/devices/*/**/net/*/queues/rx-*/rps_cpus": (f"net_queues: {{rps: {LAST}}}", ""),
    "devices/system/cpu/cpu*/power/pm_qos_resume_latency_us": (
        "cpufreq: {cpuidle: {resume_latency_us: 900}}",
        "cpufreq:cpu0/resume_latency_us",
    ),
    "devices/system/cpu/cpu*/cpuidle/state0/disable": (
        "cpufreq: {cpuidle: {disable: [POLL]}}",
        "cpufreq:cpu0/POLL",
    ),
    "devices/system/cpu/cpufreq/policy*/scaling_governor": (
        "cpufreq: {governor: performance}",
        "cpufreq:policy0/governor",
    ),
}
"""Globs below /sys: a section that asks for another value (VALUE: the other of two), and the first file's setting."""


@dataclass
class Asked:
    """A section and one of its settings, with the text of every file that it may touch."""

    section: str
    setting: SettingId
    before: dict[Path, str]

    def now(self) -> dict[Path, str]:
        return {path: path.read_text(encoding="ascii") for path in self.before}


@pytest.fixture(params=CASES)
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    """Of files that this kernel has; they are as before whatever a test does."""
    section, setting = CASES[request.param]
    paths = sorted(Path("/sys").glob(request.param))
    if not paths:
        pytest.skip("this kernel has no such file")
    if "cpumask" in request.param and LAST == 0:
        pytest.skip("one CPU has one mask")
    before = {path: path.read_text(encoding="ascii") for path in paths}
    value = before[paths[0]].strip()
    yield Asked(section.replace("VALUE", FLIPPED.get(value, value)), SettingId(setting), before)
    for path, text in before.items():
        if path.read_text(encoding="ascii") != text:
            path.write_text(text, encoding="ascii")


def test_it_goes_and_comes_back(asked: Asked, tmp_path: Path):
    road = Road(HOST, tmp_path)
    planned = road.plan(asked.section)
    setting = asked.setting or next(iter(planned))
    if planned[setting].status is Status.OK:
        pytest.skip("it is so already")
    assert (planned[setting].status, planned[setting].action) == (Status.DRIFTED, Action.UPDATE)
    assert road.apply(planned)[setting].status is Status.OK
    assert all(text != asked.before[path] for path, text in asked.now().items())
    assert actions(road.plan(asked.section)) == {Action.NONE}
    assert road.rollback() == ()
    assert asked.now() == asked.before


def test_debugfs_of_a_kernel_that_is_locked_down_is_denied(tmp_path: Path):
    """Mounted for a moment, in a mount namespace that nobody else sees."""
    path = tmp_path / "debug.yaml"
    path.write_text("name: debug\nsched_debug: {numa_balancing: {scan_delay_ms: 5000}}\n")
    path.chmod(0o644)
    probe = "mount -t debugfs none /sys/kernel/debug && test -e /sys/kernel/debug/sched/numa_balancing || exit 9"
    locked = "cat /sys/kernel/debug/sched/numa_balancing/scan_delay_ms 2>/dev/null && exit 9"
    plan = f'{probe}; {locked}; exec "$@"'
    ran = subprocess.run(
        [
            "/usr/bin/unshare",
            "--mount",
            "sh",
            "-c",
            plan,
            "sh",
            sys.executable,
            "-m",
            "numatune",
            "plan",
            str(path),
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMATUNE_STATE_DIR": str(tmp_path / "state")},
    )
    if ran.returncode == 9:
        pytest.skip("no debugfs here, or one that can be read")
    (row,) = json.loads(ran.stdout)["settings"]
    assert (row["status"], row["action"]) == ("denied", "none")
    assert "locked down" in row["reason"]
