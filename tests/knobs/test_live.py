"""Interrupts and hugepages of this machine: planned, written, read back and given back. Everything is put back."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.road import Road, actions
from fakes.trees import host_tree

from numatune.cpus import CpuSet
from numatune.engine.kinds import refusal
from numatune.host.local import LocalHost
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Status

HOST = LocalHost()
ONLINE = CpuSet.parse(HOST.read("/sys/devices/system/cpu/online").text or "0")
WIDTH = CpuSet.parse(HOST.read("/sys/devices/system/cpu/possible").text or "0").last + 1
IN_FORCE = {Status.OK, Status.PENDING}
NODE = min(Path("/sys/devices/system/node").glob("node[0-9]*"), default=Path("/nowhere"))
POOL = NODE / "hugepages/hugepages-2048kB"

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="writes to the kernel: needs root"),
]


@pytest.fixture
def road(tmp_path: Path) -> Road:
    return Road(HOST, tmp_path)


def held(paths: Sequence[Path]) -> dict[Path, str]:
    return {path: path.read_text() for path in paths}


@pytest.fixture
def as_before() -> Iterator[dict[Path, str]]:
    """Masks and pools come back whatever a test does."""
    masks = Path("/proc/irq").glob("*/smp_affinity_list")
    writable = [path for path in masks if path.stat().st_mode & 0o200]
    paths = [*writable, Path("/proc/irq/default_smp_affinity")]
    if POOL.exists():
        paths.append(POOL / "nr_hugepages")
    before = held(paths)
    yield before
    for path, text in before.items():
        if path.exists() and path.read_text() != text:
            path.write_text(text)


def vectors(*, movable: bool) -> list[tuple[str, int, int]]:
    """(address, index, number) of the interrupts that say by their mode whether they can be moved."""
    return [
        (path.parts[-3], int(Path(f"/sys/kernel/irq/{path.name}/hwirq").read_text()) & 0x7FF, int(path.name))
        for path in sorted(Path("/sys/bus/pci/devices").glob("*/msi_irqs/*"))
        if bool(Path(f"/proc/irq/{path.name}/smp_affinity_list").stat().st_mode & 0o200) is movable
    ]


MOVABLE, MANAGED = vectors(movable=True), vectors(movable=False)
needs_movable = pytest.mark.skipif(not MOVABLE or len(ONLINE) < 2, reason="no interrupt here has two places to be")
needs_managed = pytest.mark.skipif(not MANAGED, reason="no interrupt here says that the kernel manages it")
needs_pool = pytest.mark.skipif(not POOL.exists(), reason="this kernel has no 2M hugepages on a node")


@needs_movable
def test_a_movable_interrupt_goes_and_comes_back(road: Road, as_before: dict[Path, str]):
    device, index, number = MOVABLE[-1]
    file = Path(f"/proc/irq/{number}/smp_affinity_list")
    now = CpuSet.parse(as_before[file])
    want = CpuSet([ONLINE.last]) if now != CpuSet([ONLINE.last]) else CpuSet([ONLINE.first])
    rules = f"irq: {{rules: [{{match: {{address: '{device}'}}, cpus: '{want}'}}]}}\n"
    sid = SettingId(f"irq:{device}/{index}")

    planned = road.plan(rules)
    assert (planned[sid].status, planned[sid].seen.where) == (Status.DRIFTED, str(file))
    assert road.apply(planned)[sid].status in IN_FORCE
    assert CpuSet.parse(file.read_text()) == want
    again = road.plan(rules)
    assert actions(again) == {Action.NONE}
    assert again[sid].status in IN_FORCE
    assert road.rollback() == ()
    assert held([file]) == {file: as_before[file]}


@needs_managed
@pytest.mark.usefixtures("as_before")
def test_a_managed_interrupt_is_shown_and_not_written(road: Road):
    device, index, number = MANAGED[0]
    file = Path(f"/proc/irq/{number}/smp_affinity_list")
    text = file.read_text()
    other = (ONLINE - CpuSet.parse(text)) or CpuSet([ONLINE.first])
    if other == CpuSet.parse(text):
        pytest.skip("it is on the only CPU")
    rules = f"irq: {{rules: [{{match: {{address: '{device}'}}, cpus: '{other}'}}]}}\n"
    row = road.plan(rules)[SettingId(f"irq:{device}/{index}")]
    assert (row.status, row.action) == (Status.UNCHANGEABLE, Action.NONE)
    code = HOST.write(str(file), str(other))
    assert code in {errno.EPERM, errno.EIO}
    assert refusal(row.setting.target, code)[0] is Status.UNCHANGEABLE
    assert file.read_text() == text


@needs_movable
@pytest.mark.usefixtures("as_before")
def test_the_kernel_refuses_what_the_fake_one_refuses():
    number = MOVABLE[-1][2]
    fake = FakeKernel(host_tree(nodes=1, cpus_per_node=max(2, WIDTH), nics=1))
    beyond = ",".join(["00000001"] * -(-WIDTH // 32))
    asked = [
        *(("smp_affinity_list", text) for text in (str(WIDTH), f"0-{WIDTH + 50}", "x", "3-1", "-1")),
        *(("smp_affinity", text) for text in ("0", "0x1", "g", f"1,{beyond}", f"0,{beyond}")),
    ]
    said = {(name, text): HOST.write(f"/proc/irq/{number}/{name}", text) for name, text in asked}
    assert said == {(name, text): fake.write(f"/proc/irq/24/{name}", text) for name, text in asked}
    assert all(said.values())


@pytest.mark.skipif(len(ONLINE) < 2, reason="one CPU has one mask")
def test_default_affinity_goes_and_comes_back(road: Road, as_before: dict[Path, str]):
    file = Path("/proc/irq/default_smp_affinity")
    want = ONLINE.last if CpuSet.parse_mask(as_before[file]) != CpuSet([ONLINE.last]) else ONLINE.first
    planned = road.plan(f"irq: {{default_affinity: {want}}}\n")
    outcome = road.apply(planned)[SettingId("irq:default_smp_affinity")]
    assert outcome.status is Status.OK
    assert CpuSet.parse_mask(file.read_text()) == CpuSet([want])
    assert road.rollback() == ()
    assert file.read_text() == as_before[file]


@needs_pool
def test_hugepages_come_and_go(road: Road, as_before: dict[Path, str]):
    file = POOL / "nr_hugepages"
    node, pages = NODE.name.removeprefix("node"), int(as_before[file]) + 3
    section = f"hugepages: {{2M: {{by_node: {{{node}: {pages}}}}}}}\n"
    sid = SettingId(f"hugepages:{NODE.name}/2M")

    planned = road.plan(section)
    assert (planned[sid].status, planned[sid].action) == (Status.DRIFTED, Action.UPDATE)
    assert road.apply(planned)[sid].status is Status.OK
    assert int(file.read_text()) == pages
    assert road.plan(section)[sid].status is Status.OK
    assert road.rollback() == ()
    assert file.read_text() == as_before[file]


@needs_pool
@pytest.mark.usefixtures("as_before")
def test_pages_in_use_are_not_taken_and_surplus_is_told(road: Road):
    if int((POOL / "nr_hugepages").read_text()):
        pytest.skip("somebody keeps hugepages here")
    file, sid = POOL / "nr_hugepages", SettingId(f"hugepages:{NODE.name}/2M")
    fewer = f"hugepages: {{2M: {{by_node: {{{NODE.name.removeprefix('node')}: 1}}}}}}\n"
    size = 2 << 20
    file.write_text("4")
    with mmap.mmap(-1, 3 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000) as pages:
        for page in range(3):
            pages[page * size] = 1
        row = road.plan(fewer)[sid]
        assert (row.status, row.action) == (Status.DRIFTED, Action.NONE)
        assert "1 is below the 3 in use" in row.reason
        file.write_text("1")
        row = road.plan(fewer)[sid]
        assert (row.status, row.seen.text, row.seen.effective) == (Status.OK, "1\n", "3 with 2 surplus")
    assert file.read_text() == "1\n"
