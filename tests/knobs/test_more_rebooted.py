"""What a reboot took away comes back by the boot unit's command, the mount and the module too; then all goes."""

from __future__ import annotations

from pathlib import Path

import pytest  # noqa: TC002  # one import block reads better than two
from fakes import mounts
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

PROFILE = """name: wide
shm: {/mnt/kv: {policy: interleave, size: 8G}}
weighted_interleave: {weights: {0: 9}}
cpufreq: {governor: performance}
modules: {nvidia_peermem: loaded, nvidia_peermem.persistent_api_support: 0}
net_queues: {rps: local}
"""
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def reboot(kernel: FakeKernel, before: dict[str, str]) -> None:
    """The kernel starts with its own values; what lies on disk stays."""
    mounts.unmount(kernel, "/mnt/kv")
    kernel.remove("/sys/module/nvidia_peermem")
    kernel.facts.clear()
    for path in kernel.files.keys() & before.keys():
        if path.startswith(("/sys/", "/proc/")):
            kernel.files[path] = before[path]
    kernel.files[BOOT_ID] = "4f2504e0-4f89-41d3-9a0c-0305e82c3301\n"


def test_what_a_reboot_took_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tree = host_tree(nodes=2, kernel="7.3.4", bandwidths={0: 2000, 1: 1000}, cpufreq="intel_pstate", nics=1)
    kernel = FakeKernel(tree)
    lend(kernel, tmp_path, monkeypatch)
    before = kernel.state()
    (tmp_path / "wide.yaml").write_text(PROFILE)
    (tmp_path / "wide.yaml").chmod(0o644)
    assert typed("apply", "./wide.yaml", "--yes").code == 0
    applied = kernel.state()

    reboot(kernel, before)
    assert typed("drift").code == 2
    again = typed("reapply", "--boot")
    assert again.code == 0
    for name in ("shm:/mnt/kv/mount", "shm:/mnt/kv/policy", "modules:nvidia_peermem", "net_queues:eth0/rx-0/rps"):
        assert f"RM {name}" in again.out or f"RA {name}" in again.out
    assert changed(applied, kernel.state()) == {BOOT_ID}
    assert typed("drift").code == 0
    assert typed("rollback", "--yes").code == 0
    assert changed(before, kernel.state()) == {BOOT_ID}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}
