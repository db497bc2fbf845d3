"""What early boot reads: which values one line of a file can keep, and whether the real readers take the lines."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.rows import sysctl, thp
from fakes.trees import host_tree

from numatune.engine.conflicts import named
from numatune.engine.observe import observe
from numatune.export import early
from numatune.settings.codecs import Int, Paired, Words
from numatune.settings.model import FitsFree, Impact, Phase, Refuse, Setting
from numatune.settings.persisted import SYSCTL_D
from numatune.settings.targets import KernelFile

SWAPPINESS = sysctl("vm.swappiness", "10", home="sysctl.d")
DEFRAG = thp("defer+madvise", home="tmpfiles.d")
LEFT_TO_THE_BOOT_UNIT = {
    "a bound": replace(SWAPPINESS, codec=Int(">=")),
    "a value beyond a guard rail": replace(SWAPPINESS, guard=Refuse("too much")),
    "a value that must fit": replace(SWAPPINESS, guard=FitsFree("/proc/meminfo", 1)),
    "what disrupts running work": replace(SWAPPINESS, impact=Impact.DISRUPTS),
    "what is only watched": replace(SWAPPINESS, want=None),
    "one of several names": replace(SWAPPINESS, target=KernelFile(("/proc/sys/vm/a", "/proc/sys/vm/b"))),
    "zero that the partner's write brings": sysctl("vm.dirty_bytes", "0", codec=Paired(), home="sysctl.d"),
    "another home": replace(SWAPPINESS, home="boot"),
}


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (SWAPPINESS, "-vm.swappiness = 10"),
        (sysctl("vm.dirty_bytes", "1000", codec=Paired(), home="sysctl.d"), "-vm.dirty_bytes = 1000"),
        (
            sysctl("kernel.sem", "250\t32000  32 128", codec=Words(), home="sysctl.d"),
            "-kernel.sem = 250 32000 32 128",
        ),
        (
            replace(SWAPPINESS, target=KernelFile(("/proc/sys/net/ipv4/conf/bond0.354/forwarding",))),
            "-net/ipv4/conf/bond0.354/forwarding = 10",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_of_sysctl_d(setting: Setting, line: str) -> None:
    assert lines(early.sysctl_d([setting])) == [line]
    assert early.tmpfiles_d([setting]) == ""


@pytest.mark.parametrize("setting", LEFT_TO_THE_BOOT_UNIT.values(), ids=LEFT_TO_THE_BOOT_UNIT.keys())
def test_no_line_keeps(setting: Setting) -> None:
    assert early.sysctl_d([setting]) == early.tmpfiles_d([setting]) == ""


def test_lines_are_in_the_order_of_writing_whatever_order_they_come_in() -> None:
    late = sysctl("vm.min_free_kbytes", "70000", phase=Phase.RECLAIM, home="sysctl.d")
    first = early.sysctl_d([late, SWAPPINESS])
    assert lines(first) == ["-vm.swappiness = 10", "-vm.min_free_kbytes = 70000"]
    assert early.sysctl_d([SWAPPINESS, late]) == first


def test_a_line_of_tmpfiles_d_is_for_boots_alone_and_fails_nothing() -> None:
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    assert lines(early.tmpfiles_d([DEFRAG, SWAPPINESS])) == [f"w!- {path} - - - - defer+madvise"]
    odd = replace(DEFRAG, want="50%\\n", codec=Words())
    assert lines(early.tmpfiles_d([odd])) == [f"w!- {path} - - - - 50%%\\\\n"]


def test_our_own_lines_are_no_conflict_when_the_profile_changes() -> None:
    kernel = FakeKernel(host_tree())
    kernel.put("/etc/sysctl.d/50-theirs.conf", "vm.swappiness = 60\n")
    changed = replace(SWAPPINESS, want="20")
    seen = observe([changed], kernel, name_conflicts=False)
    assert named([changed], seen, kernel)[changed.id].conflicts[0].where == "/etc/sysctl.d/50-theirs.conf:1"
    kernel.put(SYSCTL_D, early.sysctl_d([SWAPPINESS]))
    assert named([changed], seen, kernel)[changed.id].conflicts == ()


def test_it_sorts_after_the_names_that_distributions_use() -> None:
    others = ["99-sysctl.conf", "99-zz-mine.conf", "README.conf", "systemd.conf", "z99.conf"]
    assert max([*others, "zz-numatune.conf"]) == "zz-numatune.conf"


def test_systemd_sysctl_takes_the_file_and_passes_over_what_is_not_there(tmp_path: Path) -> None:
    """With a prefix under which no key is: everything is read, nothing on this machine is written."""
    program = shutil.which("systemd-sysctl", path="/usr/lib/systemd:/lib/systemd")
    if program is None:
        pytest.skip("systemd-sysctl is not installed")
    file = tmp_path / "zz-numatune.conf"
    file.write_text(early.sysctl_d([SWAPPINESS]) + "oops\n", encoding="utf-8")
    ran = subprocess.run([program, "--prefix=/nowhere", str(file)], capture_output=True, text=True, check=False)
    assert re.findall(r"zz-numatune\.conf:(\d+): .*not an assignment", ran.stderr) == ["3"]


def test_systemd_tmpfiles_writes_at_boot_alone_and_passes_over_what_is_not_there(tmp_path: Path) -> None:
    program = shutil.which("systemd-tmpfiles")
    if program is None:
        pytest.skip("systemd-tmpfiles is not installed")
    held, gone = tmp_path / "sys/held", "/sys/gone"
    held.parent.mkdir()
    held.write_text("never", encoding="utf-8")
    wanted = [replace(DEFRAG, target=KernelFile((path,))) for path in ("/sys/held", gone)]
    file = tmp_path / "zz-numatune.conf"
    file.write_text(early.tmpfiles_d(wanted), encoding="utf-8")
    argv = [program, f"--root={tmp_path}", "--create", str(file)]
    assert subprocess.run(argv, capture_output=True, text=True, check=False).stderr == ""
    assert held.read_text(encoding="utf-8") == "never"
    ran = subprocess.run([*argv, "--boot"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert held.read_text(encoding="utf-8").strip() == "defer+madvise"
    assert not (tmp_path / "sys/gone").exists()
