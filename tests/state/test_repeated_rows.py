"""Which rows keep a report from being given again, and which answers of the host take it away."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest  # noqa: TC002  # one import block reads better than two
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.refusals import Refuses
from fakes.trees import host_tree
from fakes.usual import USUAL
from state.test_repeated import REQUEST, WORDS

from numatune import api


def test_rows_that_may_be_others_next_time_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is refused, a row on hold, somebody else's word in sysctl.d: each is told anew."""
    tree = {**host_tree(nodes=1), "/etc/sysctl.d/90-other.conf": "vm.swappiness = 60\n"}
    for sections, more in (
        ("sysctl: {vm.swappiness: 10}", ()),
        (
            "sysctl: {vm.stat_interval: {value: 7, optional: true}}",
            (Refuses("/proc/sys/vm/stat_interval", errno.EINVAL),),
        ),
    ):
        kernel = FakeKernel({**tree, "/proc/sys/vm/stat_interval": "1\n"}, behaviours=(*more, *USUAL))
        lend(kernel, tmp_path, monkeypatch)
        (tmp_path / "wide.yaml").write_text(f"name: wide\n{sections}\n")
        for _ in range(2):
            assert typed(*WORDS, "--differences-ok").code == 0
        assert api.repeated(kernel, REQUEST) is None


def test_a_service_that_runs_again_is_seen_where_only_processes_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without systemd the list of processes is the answer, and it is another one each time."""
    kernel = FakeKernel(host_tree(nodes=1, systemd=False), behaviours=USUAL)
    lend(kernel, tmp_path, monkeypatch)
    (tmp_path / "wide.yaml").write_text("name: wide\nservices: {irqbalance: stopped}\nsysctl: {vm.swappiness: 10}\n")
    for _ in range(2):
        typed(*WORDS)
    kernel.put("/proc/4711/comm", "irqbalance\n")
    assert api.repeated(kernel, REQUEST) is None


def test_a_policy_of_shared_memory_that_a_remount_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of mounts is a file of a process, and an answer all the same."""
    mounts = "tmpfs /dev/shm tmpfs rw,nosuid,nodev,mpol=interleave:0-1 0 0\n"
    tree = {**host_tree(nodes=2), "/proc/1/mounts": mounts, "/proc/mounts": mounts, "/proc/self/mounts": mounts}
    kernel = FakeKernel(tree, behaviours=USUAL)
    lend(kernel, tmp_path, monkeypatch)
    (tmp_path / "wide.yaml").write_text("name: wide\nshm: {/dev/shm: {policy: interleave}}\n")
    for _ in range(2):
        typed(*WORDS)
    assert api.repeated(kernel, REQUEST)
    for path in ("/proc/1/mounts", "/proc/mounts", "/proc/self/mounts"):
        kernel.put(path, mounts.replace(",mpol=interleave:0-1", ""))
    assert api.repeated(kernel, REQUEST) is None
    assert not api.clean(kernel)
