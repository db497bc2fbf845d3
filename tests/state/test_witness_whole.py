"""The record of a clean host never says clean where a look would find something: at every file that a look reads."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.refusals import Clamps, Refuses
from fakes.trees import host_tree
from fakes.usual import USUAL
from fakes.watching import OTHERS, Asked, changed

from numatune import api

PROFILE = """\
name: wide
sysctl:
  vm.swappiness: 10
  vm.page-cluster: 5
  vm.stat_interval: 7
  vm.min_free_kbytes: ">= 70000"
  kernel.no_such_thing: 1
thp: {enabled: always, defrag: defer+madvise}
hugepages: {2M: {per_node: 8}}
irq: {rules: [{match: {class: nic}, cpus: local}]}
cpusets: {a: {cpus: 0-3, mems: 0}, busy: {cpus: 0-1, mems: 0}}
services: {irqbalance: stopped}
"""
BUSY = {
    "/sys/fs/cgroup/busy/cgroup.procs": "901\n",
    "/sys/fs/cgroup/busy/cgroup.type": "domain\n",
    "/sys/fs/cgroup/busy/cgroup.events": "populated 1\nfrozen 0\n",
    "/sys/fs/cgroup/busy/cgroup.controllers": "cpuset cpu memory\n",
    "/sys/fs/cgroup/busy/cgroup.subtree_control": "\n",
    "/proc/901/comm": "python3\n",
}
Make = Callable[[str, Mapping[str, str]], FakeKernel]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A host on which the profile is applied as far as it goes: a write is refused, one clamped, a file is absent."""

    def made(profile: str, tree: Mapping[str, str]) -> FakeKernel:
        behaviours = (Clamps("/proc/sys/vm/page-cluster", 3), Refuses("/proc/sys/vm/stat_interval", errno.EINVAL))
        host = host_tree(nodes=2, cpus_per_node=4, nics=1, systemd=False)
        kernel = FakeKernel({**host, "/proc/sys/vm/page-cluster": "2\n", **tree}, behaviours=(*behaviours, *USUAL))
        lend(kernel, tmp_path, monkeypatch)
        (tmp_path / "wide.yaml").write_text(profile)
        assert typed("apply", "wide.yaml", "--yes").code in {0, 2}
        return kernel

    return made


def test_a_record_that_holds_means_a_look_would_find_nothing(make: Make) -> None:
    kernel = make(PROFILE.replace(", busy: {cpus: 0-1, mems: 0}", ""), {})
    assert api.clean(kernel)
    asked = Asked(kernel)
    assert api.drift(asked).counted == 0  # type: ignore[arg-type]
    held, tried = 0, 0
    for path in asked.paths:
        for other in (None, *OTHERS):
            one = kernel.copy()
            changed(one, path, other)
            tried += 1
            if api.clean(one):
                held += 1
                assert (path, other, api.drift(one).counted) == (path, other, 0)
    assert tried > 400
    assert 0 < held < tried // 4


def test_a_row_that_waits_for_what_passes_leaves_no_record(make: Make) -> None:
    """Apply would narrow the group as soon as nobody is in it."""
    kernel = make(PROFILE, BUSY)
    assert typed("drift").code == 0
    assert not api.clean(kernel)
    kernel.put("/sys/fs/cgroup/busy/cgroup.procs", "")
    kernel.put("/sys/fs/cgroup/busy/cgroup.events", "populated 0\nfrozen 0\n")
    assert typed("drift").code == 2
