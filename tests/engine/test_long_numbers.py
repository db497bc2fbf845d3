"""Figures of thousands of digits, which no kernel prints but a damaged tree may hold."""

from __future__ import annotations

from fakes.kernel import FakeKernel

from numatune.engine import guards, kinds
from numatune.settings.codecs import Count
from numatune.settings.model import FitsFree, Phase, Setting, SettingId
from numatune.settings.targets import HugepagePool
from numatune.topology.kernel import at_least

LONG = "9" * 5000
POOL = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB"


def test_they_are_no_figures() -> None:
    meminfo = "/sys/devices/system/node/node0/meminfo"
    tree = {
        meminfo: f"Node 0 MemFree: {LONG} kB\n",
        f"{POOL}/nr_hugepages": "0\n",
        f"{POOL}/free_hugepages": f"{LONG}\n",
    }
    kernel = FakeKernel(tree)
    guard = FitsFree(meminfo, 2 << 20, POOL)
    setting = Setting(
        id=SettingId("hugepages:node0/2M"),
        target=HugepagePool(0, 2048),
        codec=Count(),
        want="8",
        phase=Phase.HUGEPAGES,
        section="hugepages",
        guard=guard,
    )
    assert kinds.look(setting, kernel).text == "0\n"
    assert guards.figure(guard, "8", "0", kernel) is not None


def test_a_release_that_is_none_is_taken_for_new() -> None:
    assert at_least(f"{LONG}.{LONG}", 6, 1)
