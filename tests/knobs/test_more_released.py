"""What a new set no longer wants comes back by the commands, with all that it moved; and a rollback brings it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

PROFILES = {
    "weights": (
        {"nodes": 2, "kernel": "7.3.4", "bandwidths": {0: 200000, 1: 100000}},
        "weighted_interleave: {weights: {0: 9}}",
    ),
    "a governor": ({"nodes": 1, "cpufreq": "intel_pstate"}, "cpufreq: {governor: performance}"),
    "an isolated partition": (
        {"nodes": 2, "systemd": False},
        "cpusets: {rt: {cpus: 6-7, mems: 1, partition: isolated}}",
    ),
    "a mount of its own": ({"nodes": 2}, "shm: {/mnt/kv: {policy: interleave, size: 8G}}"),
    "a module": ({"nodes": 1}, "modules: {nvidia_peermem: loaded}"),
    "queues": ({"nodes": 2, "nics": 1}, "net_queues: {rps: local}"),
    "tiers": ({"nodes": 2, "memory_only": [2]}, "tiering: {demotion: true}\nworkqueues: {cpumask: '0'}"),
}


@pytest.mark.parametrize("name", PROFILES)
def test_it_is_given_back_and_taken_up_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shape, text = PROFILES[name]
    kernel = FakeKernel(host_tree(**shape))
    lend(kernel, tmp_path, monkeypatch)
    before = kernel.state()
    (tmp_path / "one.yaml").write_text(f"name: one\n{text}\n")
    (tmp_path / "two.yaml").write_text("name: two\nsysctl: {vm.swappiness: 10}\n")
    for file in ("one.yaml", "two.yaml"):
        (tmp_path / file).chmod(0o644)

    first = typed("apply", "./one.yaml", "--yes", "--allow-disruption")
    assert first.code == 0, first.screen
    applied = kernel.state()
    assert changed(before, applied)

    second = typed("apply", "./two.yaml", "--yes", "--allow-disruption")
    assert second.code == 0, second.screen
    assert changed(before, kernel.state()) == {"/proc/sys/vm/swappiness"}

    assert typed("rollback", "--yes").code == 0
    assert changed(applied, kernel.state()) == set()
    assert typed("drift").code == 0
    assert typed("rollback", "--all", "--yes").code == 0
    assert changed(before, kernel.state()) == set()


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}
