"""Who else sets it: the line of sysctl.d that counts, and services that run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from fakes.forty import NIC, sysctl
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune.engine.observe import flat, observe
from numatune.settings.codecs import CpuList, Int, Text
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Conflict
from numatune.settings.targets import IrqAffinity, OwnedFile


def named(setting: Setting, files: Mapping[str, str], *more: Setting) -> tuple[Conflict, ...]:
    kernel = FakeKernel({**host_tree(nics=[{"vectors": 2}]), **files})
    return observe(flat([setting, *more]), kernel)[setting.id].conflicts


IRQ = Setting(
    id=SettingId(f"irq:{NIC}/0"),
    target=IrqAffinity(NIC, 0),
    codec=CpuList(),
    want="0",
    phase=Phase.IRQ,
    section="irq",
)


@pytest.mark.parametrize(
    "line",
    [
        "vm.swappiness = 60",
        "vm/swappiness=60",
        "  vm.swappiness=60  ",
        "-vm.swappiness = 60",
        "# a comment\n; another\nvm.swappiness = 10\nvm.swappiness = 60",
        "vm.swap* = 60",
        "v?/swappiness = 60",
    ],
)
def test_a_line_that_sets_another_value_is_named(line: str):
    (found,) = named(sysctl("vm.swappiness", "10"), {"/etc/sysctl.d/50-db.conf": f"{line}\n"})
    last = line.count("\n") + 1
    assert found == Conflict("sysctl.d", f"/etc/sysctl.d/50-db.conf:{last}", "60")


@pytest.mark.parametrize(
    "line",
    [
        "vm.swappiness = 10",
        "vm.swappiness = 60\nvm.swappiness=10",
        "vm.swappiness.x = 60",
        "*.swappiness.* = 60",
        "* = 60",
        "vm.swap* = 60\nvm.swappiness = 10",
        "vm.swappiness = 10\nvm.swap* = 60",  # a key that is set by name is out of every glob
        "-vm.swappiness\nvm.swap* = 60",
        "vm.swappiness",
        "#vm.swappiness = 60",
        "",
    ],
)
def test_a_line_that_says_the_same_or_is_about_something_else_is_not(line: str):
    assert named(sysctl("vm.swappiness", "10"), {"/etc/sysctl.d/50-db.conf": f"{line}\n"}) == ()


def test_a_value_within_the_bound_is_no_conflict():
    files = {"/etc/sysctl.d/50-db.conf": "vm.swappiness = 5\n"}
    assert named(sysctl("vm.swappiness", "10", Int(op="<=")), files) == ()


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"/etc/sysctl.d/10-a.conf": "60", "/etc/sysctl.d/90-b.conf": "70"}, "/etc/sysctl.d/90-b.conf:1"),
        ({"/usr/lib/sysctl.d/90-a.conf": "60", "/etc/sysctl.d/10-b.conf": "70"}, "/usr/lib/sysctl.d/90-a.conf:1"),
        ({"/usr/lib/sysctl.d/50-a.conf": "60", "/run/sysctl.d/50-a.conf": "70"}, "/run/sysctl.d/50-a.conf:1"),
        ({"/run/sysctl.d/50-a.conf": "60", "/etc/sysctl.d/50-a.conf": "70"}, "/etc/sysctl.d/50-a.conf:1"),
        (
            {"/usr/local/lib/sysctl.d/50-a.conf": "60", "/lib/sysctl.d/50-a.conf": "7"},
            "/usr/local/lib/sysctl.d/50-a.conf:1",
        ),
        ({"/etc/sysctl.d/99-a.conf": "60", "/etc/sysctl.conf": "70"}, "/etc/sysctl.conf:1"),
        ({"/etc/sysctl.d/50-a.conf": "60", "/etc/sysctl.d/99-b.conf.bak": "70"}, "/etc/sysctl.d/50-a.conf:1"),
    ],
)
def test_the_line_that_counts_is_the_last_one_of_what_is_not_masked(files: Mapping[str, str], where: str):
    lines = {path: f"vm.swappiness = {value}\n" for path, value in files.items()}
    assert [found.where for found in named(sysctl("vm.swappiness", "10"), lines)] == [where]


def test_a_masked_file_says_nothing():
    files = {"/usr/lib/sysctl.d/50-a.conf": "vm.swappiness = 60\n", "/etc/sysctl.d/50-a.conf": "\n"}
    assert named(sysctl("vm.swappiness", "10"), files) == ()


def test_dots_in_a_name_are_spelled_with_slashes():
    path = "/proc/sys/net/ipv4/conf/bond0.354/forwarding"
    setting = sysctl("net.ipv4.conf.bond0/354.forwarding", "1")
    setting = Setting(
        id=setting.id,
        target=type(setting.target)((path,)),  # type: ignore[call-arg]
        codec=Int(),
        want="1",
        phase=Phase.SYSCTL,
        section="sysctl",
    )
    for key in ("net.ipv4.conf.bond0/354.forwarding", "net/ipv4/conf/bond0.354/forwarding"):
        (found,) = named(setting, {path: "0\n", "/etc/sysctl.d/50-a.conf": f"{key} = 0\n"})
        assert found.value == "0"


@pytest.mark.parametrize(
    ("comm", "of_irq", "of_sysctl"),
    [("irqbalance", True, False), ("tuned", True, True), ("saptune", False, True), ("bpftune", False, False)],
)
def test_a_service_is_named_on_the_rows_that_it_touches(comm: str, *, of_irq: bool, of_sysctl: bool):
    files = {"/proc/812/comm": f"{comm}\n"}
    expected = (Conflict(comm, "pid 812"),)
    assert named(IRQ, files) == (expected if of_irq else ())
    assert named(sysctl("vm.swappiness", "10"), files) == (expected if of_sysctl else ())


def test_irqbalance_that_leaves_our_interrupts_alone_is_no_rival():
    file = OwnedFile("/etc/systemd/system/irqbalance.service.d/numatune.conf", restart="irqbalance.service")
    fence = Setting(
        id=SettingId("file:irqbalance"), target=file, codec=Text(), want="x\n", phase=Phase.FILES, section="services"
    )
    running = {"/proc/812/comm": "irqbalance\n"}
    assert named(IRQ, running, fence) == (Conflict("irqbalance", "pid 812"),)
    assert named(IRQ, {**running, file.path: "x\n"}, fence) == ()


def test_what_is_only_watched_has_no_conflicts():
    assert named(sysctl("vm.swappiness", None), {"/etc/sysctl.d/50-db.conf": "vm.swappiness = 1\n"}) == ()


def test_names_are_not_looked_for_unless_asked():
    kernel = FakeKernel({**host_tree(), "/etc/sysctl.d/50-db.conf": "vm.swappiness = 1\n"})
    setting = sysctl("vm.swappiness", "10")
    assert observe([setting], kernel, name_conflicts=False)[setting.id].conflicts == ()
