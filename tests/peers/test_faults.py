"""Faults of other tuners that no data file can show; rows.yaml names who complained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import Behaviour, FakeKernel
from fakes.machine import Machine
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune import profile
from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.discover import discover

PATTERN = "/proc/sys/kernel/core_pattern"
CONNTRACK = "/proc/sys/net/netfilter/nf_conntrack_max"


@dataclass(frozen=True)
class CutsAt(Behaviour):
    """A file that keeps the first characters of a text and says that it took it all."""

    path: str
    most: int

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if path != self.path:
            return None
        kernel.files[path] = text.rstrip("\n")[: self.most] + "\n"
        return 0


def written(folder: Path, text: str) -> str:
    path = folder / "asked.yaml"
    path.write_text(f"name: asked\n{text}", encoding="utf-8")
    return str(path)


def test_a_text_that_the_kernel_cuts_short_is_clamped_with_both_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """systemd#26261: core_pattern keeps 127 characters of the 150 that were written."""
    asked = "|/usr/lib/systemd/systemd-coredump " + "%P" * 60
    kernel = FakeKernel(host_tree(sysctl={"kernel.core_pattern": "core"}), behaviours=(CutsAt(PATTERN, 127), *USUAL))
    lend(kernel, tmp_path, monkeypatch)
    path = written(tmp_path, f"sysctl: {{kernel.core_pattern: '{asked}'}}\n")
    done = typed("apply", path, "--yes", "--json")
    (row,) = done.json["settings"]
    assert (done.code, row["status"], row["wanted"], row["current"]) == (2, "clamped", asked, asked[:127])
    assert typed("apply", path, "--yes").code == 2
    assert [text for where, text in kernel.log if where == PATTERN] == [asked], "not tried again"
    assert typed("rollback", "--yes").code == 0
    assert (kernel.read(PATTERN).text or "").strip() == "core"


def test_what_is_missing_and_optional_counts_in_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """TuneD's verify fails for a missing sysctl with --ignore-missing and without."""
    lend(FakeKernel(host_tree()), tmp_path, monkeypatch)
    path = written(tmp_path, "sysctl: {kernel.no_such_knob: {value: 1, optional: true}}\n")
    for command in (["plan", path], ["apply", path, "--yes"], ["drift"], ["drift", path]):
        assert typed(*command).code == 0, command
    (row,) = typed("plan", path, "--json").json["settings"]
    assert row["status"] == "unsupported", "and it is still told"
    monkeypatch.undo()
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))
    assert typed("verify", path).code == 0
    counted = written(tmp_path, "sysctl: {kernel.no_such_knob: 1}\n")
    assert typed("verify", counted).code == 2


@pytest.mark.live
@pytest.mark.parametrize("key", ["vm.swappiness", "vm/swappiness"])
def test_every_spelling_of_a_key_is_compared_and_verified(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """TuneD's `transparent_hugepage` is an alias of `transparent_hugepages` that is set and never verified."""
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))
    held = int(Path("/proc/sys/vm/swappiness").read_text(encoding="ascii"))
    for value, code in ((held, 0), (held ^ 1, 2)):
        path = written(tmp_path, f"sysctl: {{{key}: {value}}}\n")
        assert typed("plan", path).code == code
        assert typed("verify", path).code == code


def test_what_is_missing_now_is_set_once_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """systemd#1113, #43362: nf_conntrack_max comes with its module, after the tuner has run."""
    kernel = FakeKernel(host_tree())
    lend(kernel, tmp_path, monkeypatch)
    path = written(tmp_path, "sysctl: {net.netfilter.nf_conntrack_max: 100000, vm.swappiness: 10}\n")
    first = typed("apply", path, "--yes")
    assert (first.code, "unsupported" in first.out) == (2, True)
    assert typed("drift").code == 0, "told once by apply, quiet since"
    kernel.put(CONNTRACK, "262144\n")
    told = typed("drift")
    assert (told.code, "nf_conntrack_max" in told.out) == (2, True)
    assert typed("apply", path, "--yes").code == 0
    assert kernel.read(CONNTRACK).text == "100000\n"
    assert typed("rollback", "--all", "--yes").code == 0
    assert kernel.read(CONNTRACK).text == "262144\n"


def test_cores_are_reserved_with_their_siblings(tmp_path: Path):
    """Node Tuning Operator pull request 363: a reserved CPU whose sibling works is no reserve."""
    text = 'cpusets: {inference.slice: {cpus: "{{ cpus.online - nodes.first_cores(1) }}"}}\n'
    kernel = FakeKernel(host_tree(nodes=2, cpus_per_node=4, threads=2))
    document = profile.load([written(tmp_path, text)])
    settings = profile.resolve(document, discover(kernel, document.reads)).settings
    cores = {int(cpu): siblings for cpu in range(8) if (siblings := kernel.read(siblings_of(cpu)).text)}
    (cpus,) = [setting.want or "" for setting in settings if setting.id.endswith("/cpus")]
    assert {cores[int(cpu)].strip() for cpu in CpuSet.parse(cpus)} == {"1,5", "3,7"}
    assert len(CpuSet.parse(cpus)) == 4


def siblings_of(cpu: int) -> str:
    return f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    if os.geteuid() != 0:
        pytest.skip("writes to this kernel: needs root")
    made = Machine(tmp_path)
    yield made
    made.put_back()


def of_numatune(state: Path) -> list[str]:
    """Processes that were started with this state: other tests have others."""
    mark = f"NUMATUNE_STATE_DIR={state}".encode()
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if mark in _bytes(path).split(b"\0")]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.live
def test_nothing_of_numatune_runs_on_after_apply(machine: Machine):
    """tuned#416, pull request 386: no daemon takes CPU time, and none gives values back when it ends."""
    path = machine.profile("sysctl: {vm.swappiness: 61}\n")
    assert machine.numatune("apply", path, "--yes").code == 0
    assert of_numatune(machine.state) == []
    assert list(machine.moved()) == ["/proc/sys/vm/swappiness"]
    assert machine.numatune("rollback", "--yes").code == 0
