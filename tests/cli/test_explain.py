"""explain where little is known: what nobody captured, words of plans, parameters at boot, last words of names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.commands import typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two

from numatune.settings.model import Impact
from numatune.settings.plan import Action, Status, counted

ARCHITECTURE = Path(__file__).parents[2] / "docs/architecture.md"
WORDS = [word for kind in (Status, Action, Impact) for word in kind]


def test_what_was_not_captured_is_not_what_the_kernel_lacks(kernel: FakeKernel) -> None:
    kernel._live = False  # noqa: SLF001  # as if it were a captured one
    kernel.remove("/proc/sys/vm/zone_reclaim_mode")
    assert "nothing: this kernel has no such file" in typed("explain", "vm.zone_reclaim_mode").out
    kernel.remove("/proc/sys/vm")
    assert "nothing: not in this captured tree" in typed("explain", "vm.zone_reclaim_mode").out


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_a_plan_is_told_with_what_it_means(word: Status | Action | Impact) -> None:
    done = typed("explain", word, "--json")
    (told,) = done.json["explained"]
    assert told["known"][0] == {"heading": "what", "text": word.meaning}
    assert told["known"][-1] == {"heading": "here", "text": "no profile is applied or named"}


def test_statuses_mean_what_the_documentation_says() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \| ([^|]+) \|$", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(status, status.meaning, counted(status)) for status in Status]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("word", "parts"),
    [
        (
            "numa=off",
            ["kernel_cmdline: numa=off", "serving-host has numa=off under forbid: Without nodes", "not on the"],
        ),
        ("mitigations=off", ["kernel_cmdline: mitigations=off", "holds here", "look yourself  cat /proc/cmdline"]),
        ("isolcpus", ["kernel_cmdline: isolcpus", "what only a boot can set"]),
        ("iommu.passthrough", ["grace-coherent has iommu.passthrough=1 under forbid"]),
        ("swappiness", ["sysctl:vm.swappiness", "holds here     60"]),
        ("governor", ["cpufreq.governor", "schedutil"]),
        ("new processes", ["new-processes: a word of plans"]),
    ],
)
def test_what_is_no_whole_name_is_told_all_the_same(word: str, parts: list[str]) -> None:
    done = typed("explain", word)
    assert (done.code, done.err) == (0, "")
    assert [part for part in parts if part not in done.out] == []


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("defrag", "did you mean thp.defrag or thp.khugepaged.defrag?"),
        ("swapiness", "did you mean vm.swappiness?"),
        ("vm.swapiness", "did you mean vm.swappiness?"),
        ("irqq", "did you mean irq"),
        ("shm.policy", "did you mean shm.*.policy?"),
        ("hugepages.per_nod", "did you mean hugepages.*.per_node"),
        ("zzz", "numatune plan PROFILE -v lists the ids of a profile"),
    ],
)
def test_what_may_be_meant_is_suggested(word: str, hint: str) -> None:
    done = typed("explain", word)
    assert (done.code, hint in done.err) == (1, True), done.err


def test_a_word_of_a_plan_names_the_rows_that_it_is_said_of(kernel: FakeKernel, tmp_path: Path) -> None:
    assert kernel.live
    (tmp_path / "mine.yaml").write_text(
        "name: mine\nsysctl: {vm.swappiness: 1}\nkernel_cmdline: {require: [iommu=pt]}\n", encoding="utf-8"
    )
    asked = ("explain", "--profile", str(tmp_path / "mine.yaml"))
    assert "1 of 2 rows: sysctl:vm.swappiness\n" in typed(*asked, "drifted").out
    assert "1 of 2 rows: kernel_cmdline:require/iommu=pt\n" in typed(*asked, "reboot").out
    assert "0 of 2 rows\n" in typed(*asked, "clamped").out
    assert "status         reboot: needs the kernel command line and a reboot" in typed(*asked, "iommu=pt").out
