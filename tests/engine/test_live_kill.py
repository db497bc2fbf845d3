"""A process that is really killed at each of its writes to this kernel; what it had written comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.forty import sysctl

from numatune.engine import runs
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.journal import FileJournal
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.host.local import LocalHost
from numatune.settings.codecs import Choice, Count, CpuList, Paired, Text
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import Cgroup, HugepagePool, IrqAffinity, KernelFile, OwnedFile
from numatune.settings.wire import to_data

pytestmark = [pytest.mark.live, pytest.mark.skipif(os.geteuid() != 0, reason="writes to this kernel as root")]

HOST = LocalHost()
SCRIPT = Path(__file__).with_name("killed_apply.py")
THP = "/sys/kernel/mm/transparent_hugepage"
CPUSET = "/sys/fs/cgroup/cpuset"
GROUP = f"{CPUSET}/numatune-killed"
POOL = HugepagePool(0, 2048)
PCI = "/sys/bus/pci/devices"


def text(path: str) -> str:
    return HOST.read(path).text or ""


def other(path: str, *values: str) -> str | None:
    """A harmless value that is not there yet; None when there is no such file."""
    now = HOST.read(path).text
    return None if now is None else next(value for value in values if value != now.strip())


def wanted(folder: Path) -> tuple[Setting, ...]:
    """Whatever of this this machine has."""
    return flat([*_sysctls(), *_thp(), *_pools(), *_interrupts(), *_groups(), _file(folder)])


def _sysctls() -> Iterator[Setting]:
    for key, *values in (
        ("vm.swappiness", "47", "48"),
        ("vm.stat_interval", "3", "4"),
        ("vm.watermark_boost_factor", "14999", "14998"),
        ("vm.max_map_count", "262144", "262145"),
        ("kernel.numa_balancing", "0", "1"),
    ):
        if (value := other(f"/proc/sys/{key.replace('.', '/')}", *values)) is not None:
            yield sysctl(key, value)
    ratio, half = "/proc/sys/vm/dirty_background_ratio", "vm.dirty_background_bytes"
    if (value := other(ratio, "9", "8")) is not None:
        yield sysctl("vm.dirty_background_ratio", value, Paired(), companions=(sysctl(half, None, Paired()),))


def _thp() -> Iterator[Setting]:
    for name, *values in (("defrag", "defer+madvise", "madvise"), ("khugepaged/pages_to_scan", "4095", "4094")):
        path = f"{THP}/{name}"
        now = Choice().show(text(path))
        if now:
            value = next(value for value in values if value != now)
            yield Setting(
                id=SettingId(f"thp:{name}"),
                target=KernelFile((path,)),
                codec=Choice(),
                want=value,
                phase=Phase.THP,
                section="thp",
            )


def _pools() -> Iterator[Setting]:
    if now := text(f"{POOL.folder}/nr_hugepages"):
        yield Setting(
            id=SettingId("hugepages:node0/2M"),
            target=POOL,
            codec=Count(),
            want=str(int(now) + 2),
            phase=Phase.HUGEPAGES,
            section="hugepages",
        )


def _interrupts() -> Iterator[Setting]:
    for device in HOST.names(PCI):
        for number in HOST.names(f"{PCI}/{device}/msi_irqs"):
            index = int(text(f"/sys/kernel/irq/{number}/hwirq") or 0) & 0x7FF
            now = text(f"/proc/irq/{number}/smp_affinity_list").strip()
            yield Setting(
                id=SettingId(f"irq:{device}/{index}"),
                target=IrqAffinity(device, index),
                codec=CpuList(),
                want="0" if now != "0" else text("/sys/devices/system/cpu/online").strip(),
                phase=Phase.IRQ,
                section="irq",
            )


def _groups() -> Iterator[Setting]:
    if not text(f"{CPUSET}/cpuset.cpus"):
        return
    group = Setting(
        id=SettingId("cgroup:killed"),
        target=Cgroup(GROUP),
        codec=Choice(),
        want="here",
        phase=Phase.CGROUP,
        section="cpusets",
    )
    yield group
    for name in ("mems", "cpus"):
        yield Setting(
            id=SettingId(f"cpuset:killed/{name}"),
            target=KernelFile((f"{GROUP}/cpuset.{name}",)),
            codec=CpuList(),
            want="0",
            phase=Phase.CGROUP,
            section="cpusets",
            needs=group.id,
        )


def _file(folder: Path) -> Setting:
    path = str(folder / "etc" / "numatune.conf")
    return Setting(
        id=SettingId("file:numatune.conf"),
        target=OwnedFile(path),
        codec=Text(),
        want="ours\n",
        phase=Phase.FILES,
        section="files",
    )


def held(settings: tuple[Setting, ...]) -> dict[str, str | None]:
    seen = observe(settings, HOST, name_conflicts=False)
    return {sid: found.text for sid, found in seen.items()}


def roll_back(folder: str) -> list[str]:
    chosen = runs.choose(runs.listed(folder), every=True)
    ledger = fold(runs.records(chosen.runs))
    boot = text("/proc/sys/kernel/random/boot_id").strip()
    seen = observe([owned.setting for owned in ledger.values()], HOST, name_conflicts=False)
    changes, spared = restore(ledger, seen, boot)
    head = runs.head(folder, "rollback", boot, undoes=chosen.numbers)
    came = execute(changes, HOST, FileJournal(folder, chosen.numbers), head)
    return [one.id for one in spared] + [one.id for one in came if one.status != "ok"]


@pytest.fixture(name="settings")
def _settings(tmp_path: Path) -> Iterator[tuple[Setting, ...]]:
    """What is wanted; afterwards everything is as before, whatever the test did."""
    settings = wanted(tmp_path)
    before = observe(settings, HOST, name_conflicts=False)
    yield settings
    for setting in settings:
        found = before[setting.id]
        now = observe([setting], HOST, name_conflicts=False)[setting.id]
        if found.text is None or now.text == found.text:
            continue
        for spelled in setting.codec.back(found.text, now.text or ""):
            HOST.write(now.where, spelled)
    HOST.drop(GROUP)


def test_a_process_that_is_killed_at_any_of_its_writes(tmp_path: Path, settings: tuple[Setting, ...]):
    before = held(settings)
    asked = tmp_path / "settings.json"
    asked.write_text(json.dumps([to_data(setting) for setting in settings]), encoding="ascii")
    steps, moved = 0, 0
    while True:
        steps += 1
        folder = str(tmp_path / f"state{steps}" / "runs")
        ran = subprocess.run([sys.executable, str(SCRIPT), str(asked), folder, str(steps)], check=False)
        moved += held(settings) != before
        if ran.returncode == 0:
            break
        assert ran.returncode == -signal.SIGKILL
        cut_off = runs.cut_off(runs.listed(folder))
        assert cut_off is not None
        assert cut_off.number == 1
        assert roll_back(folder) == [], f"killed at step {steps}"
        assert held(settings) == before, f"killed at step {steps}"
    assert roll_back(folder) == []
    assert held(settings) == before
    assert steps > 20
    assert moved > steps // 2, "the process must have written something before it was killed"
