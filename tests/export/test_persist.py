"""Which rows a host gets, by what it has."""

from __future__ import annotations

import pytest
from fakes.rows import sysctl, thp

from numatune.export import persist
from numatune.export.place import Place
from numatune.settings.codecs import CpuList, CpuMask
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.persisted import BOOT, IRQ, REPAIR, TIMER
from numatune.settings.targets import IrqAffinity, KernelFile, Nothing, OwnedFile

MANAGER = ("/etc/NetworkManager/dispatcher.d", "NetworkManager")
DISPATCHER = ("/etc/networkd-dispatcher/routable.d", "networkd-dispatcher")
SYSCTL, THP = sysctl("vm.swappiness", "10", home="sysctl.d"), thp("never", home="tmpfiles.d")
IRQ_ROW = Setting(
    id=SettingId("irq:0000:41:00.0/1"),
    target=IrqAffinity("0000:41:00.0", 1),
    codec=CpuList(),
    want="1",
    phase=Phase.IRQ,
    section="irq",
)
EVERY = (SYSCTL, THP, IRQ_ROW)
QUEUE = Setting(
    id=SettingId("net_queues:eth0/rx-0/rps"),
    target=KernelFile(("/sys/class/net/eth0/queues/rx-0/rps_cpus",)),
    codec=CpuMask(),
    want="0",
    phase=Phase.IRQ,
    section="net_queues",
)


def place(**facts: object) -> Place:
    return Place(program=("/usr/local/bin/numatune",), **facts)  # type: ignore[arg-type]


def names(wanted: tuple[Setting, ...], where: Place) -> list[str]:
    return [setting.id.removeprefix("persist:") for setting in persist.settings(wanted, where)]


FILES = ["sysctl.d", "tmpfiles.d", BOOT, f"{BOOT}/enabled"]
TIMED = [REPAIR, TIMER, f"{TIMER}/enabled", f"{TIMER}/active"]


@pytest.mark.parametrize(
    ("wanted", "where", "rows"),
    [
        (EVERY, place(), [*FILES, IRQ, "udev", *TIMED]),
        (EVERY, place(hooks=(MANAGER,)), [*FILES, IRQ, "udev", "NetworkManager/dispatcher.d"]),
        (
            EVERY,
            place(hooks=(MANAGER, DISPATCHER)),
            [*FILES, IRQ, "udev", "NetworkManager/dispatcher.d", "networkd-dispatcher/routable.d"],
        ),
        ((SYSCTL, THP), place(), FILES),
        ((THP,), place(), FILES[1:]),
        ((THP, QUEUE), place(hooks=(MANAGER,)), [*FILES[1:], IRQ, "udev", "NetworkManager/dispatcher.d"]),
        (EVERY, place(systemd=False, sysctl_d=False, tmpfiles_d=False), ["sysctl.d", "tmpfiles.d", "boot"]),
        (EVERY, place(systemd=False, tmpfiles_d=False), ["sysctl.d", "tmpfiles.d", "boot"]),
        (EVERY, place(forgets="/etc is in memory"), ["root"]),
    ],
    ids=[
        "no hooks: a timer",
        "a hook of NetworkManager",
        "both",
        "no interrupts",
        "no sysctls",
        "queues alone",
        "no systemd, nothing reads anything",
        "no systemd, sysctl.d is read",
        "a root that forgets",
    ],
)
def test_rows(wanted: tuple[Setting, ...], where: Place, rows: list[str]) -> None:
    assert names(wanted, where) == rows


def test_what_a_host_cannot_keep_is_said_with_the_reason() -> None:
    rows = {s.id: s.target for s in persist.settings(EVERY, place(systemd=False, tmpfiles_d=False))}
    assert isinstance(rows[SettingId("persist:sysctl.d")], OwnedFile)
    assert rows[SettingId("persist:tmpfiles.d")] == Nothing(
        "unsupported", "nothing on this host reads /etc/tmpfiles.d at boot"
    )
    boot = rows[SettingId("persist:boot")]
    assert isinstance(boot, Nothing)
    assert "/usr/local/bin/numatune reapply --boot" in boot.reason
    (root,) = persist.settings(EVERY, place(forgets="/etc is in memory"))
    assert root.target == Nothing("unsupported", "/etc is in memory")


def test_hooks_are_scripts_and_unit_files_are_read_again() -> None:
    rows = {s.id: s.target for s in persist.settings(EVERY, place(hooks=(MANAGER,)))}
    files = {sid: target for sid, target in rows.items() if isinstance(target, OwnedFile)}
    assert files[SettingId("persist:NetworkManager/dispatcher.d")].mode == 0o755
    assert {target.mode for sid, target in files.items() if "Network" not in sid} == {0o644}
    assert {sid.removeprefix("persist:") for sid, target in files.items() if target.reload} == {BOOT, IRQ}


@pytest.mark.parametrize(
    ("wanted", "where", "told"),
    [
        (EVERY, place(), "numatune-repair.timer, every ten minutes"),
        (
            EVERY,
            place(hooks=(MANAGER, DISPATCHER)),
            "when a link comes up: a hook of NetworkManager and networkd-dispatcher; after ethtool -L",
        ),
        ((SYSCTL,), place(), ""),
        (EVERY, place(systemd=False), ""),
    ],
)
def test_what_is_armed_is_told(wanted: tuple[Setting, ...], where: Place, told: str) -> None:
    notes = persist.notes(wanted, where)
    assert bool(notes) == bool(told)
    assert all(told in note for note in notes)
