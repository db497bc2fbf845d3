"""A pool holds what the kernel could find, not what was asked; surplus pages are nobody's reserve."""

from __future__ import annotations

import errno

import pytest
from fakes.hugepages import Pool
from fakes.kernel import FakeKernel
from fakes.trees import GIB, host_tree

from numatune.engine.kinds import carry_out, look
from numatune.settings.codecs import Count
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import HugepagePool

NODE1 = HugepagePool(1, 2048)
NR = f"{NODE1.folder}/nr_hugepages"
IN_PIECES = "Node 0, zone   Normal 0 0 0 0 0 0 0 0 0 0 2048\nNode 1, zone   Normal 9 9 9 9 9 9 9 9 9 100 50\n"


def setting(want: str | None) -> Setting:
    return Setting(
        id=SettingId("hugepages:node1/2M"),
        target=NODE1,
        codec=Count(),
        want=want,
        phase=Phase.HUGEPAGES,
        section="hugepages",
    )


def host(pages: int = 0) -> FakeKernel:
    """Two nodes of 16 GiB of which half is free."""
    return FakeKernel(host_tree(memory_per_node=16 * GIB, hugepages={2048: pages, 1048576: 0}))


def write(kernel: FakeKernel, text: str, impact: Impact = Impact.LIVE) -> int:
    change = Change(setting(text), Observation("0\n"), Status.DRIFTED, Action.UPDATE, (text,), impact)
    return carry_out(change, kernel)


def test_a_pool_is_counted_on_its_node():
    kernel = host()
    assert write(kernel, "512") == 0
    assert look(setting("512"), kernel).text == "512\n"
    assert kernel.files["/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"] == "0\n"
    assert kernel.files["/proc/sys/vm/nr_hugepages"] == "512\n"


def test_a_shortfall_is_no_error_of_the_write_and_what_was_got_stays():
    kernel = host()
    assert write(kernel, "100000") == 0
    assert look(setting("100000"), kernel).text == "4096\n"


def test_surplus_pages_are_not_counted_and_are_told():
    kernel = host(pages=8)
    Pool(kernel, 1).use(5)
    assert write(kernel, "2") == 0
    assert kernel.files[NR] == "5\n"
    seen = look(setting("5"), kernel)
    assert (seen.text, seen.effective) == ("2\n", "5 with 3 surplus")
    Pool(kernel, 1).use(-5)
    assert look(setting("2"), kernel).text == "2\n"


def test_memory_in_small_pieces_gives_few_pages_and_compaction_only_where_disruption_is_allowed():
    kernel = host()
    kernel.put("/proc/buddyinfo", IN_PIECES)
    assert write(kernel, "512") == 0
    assert look(setting("512"), kernel).text == "200\n"
    assert [path for path, _ in kernel.log] == [NR]
    kernel.log.clear()
    assert write(kernel, "512", Impact.DISRUPTS) == 0
    assert look(setting("512"), kernel).text == "512\n"
    assert kernel.log == [(NR, "512"), ("/sys/devices/system/node/node1/compact", "1"), (NR, "512")]


def test_no_compaction_where_the_pages_are_there():
    kernel = host()
    assert write(kernel, "512", Impact.DISRUPTS) == 0
    assert kernel.log == [(NR, "512")]


def test_a_kernel_without_compaction_keeps_what_it_got():
    kernel = host()
    kernel.put("/proc/buddyinfo", IN_PIECES)
    kernel.remove("/sys/devices/system/node/node1/compact")
    assert write(kernel, "512", Impact.DISRUPTS) == 0
    assert look(setting("512"), kernel).text == "200\n"


@pytest.mark.parametrize("text", ["-1", "0x10", "1.5", "many"])
def test_the_kernel_takes_decimal_counts_only(text: str):
    assert write(host(), text) == errno.EINVAL


def test_absent_and_denied_are_told_apart():
    gone = host()
    gone.remove(NODE1.folder)
    assert look(setting("1"), gone) == Observation(None, errno.ENOENT, NR)
    locked = FakeKernel(host_tree(), read_only=("/sys",))
    seen = look(setting("1"), locked)
    assert (seen.text, seen.errno, seen.writable) == ("0\n", errno.EROFS, False)


def test_what_is_held_is_not_asked_whether_it_could_be_written():
    assert look(setting("0"), host()).writable is None
