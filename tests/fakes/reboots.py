"""A host that keeps what persists and forgets the rest when it is restarted, and what its tests ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest  # noqa: TC002  # one import block reads better than two

from fakes.commands import Typed, lend, typed
from fakes.kernel import FakeKernel
from fakes.systemd import Systemd
from fakes.trees import host_tree
from numatune.settings.persisted import BOOT, IRQ, REPAIR, SYSCTL_D, TIMER, TMPFILES_D, UDEV_RULES, UNITS

SWAPPINESS, MIN_FREE = "/proc/sys/vm/swappiness", "/proc/sys/vm/min_free_kbytes"
DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"
NIC = "0000:41:00.0"
PROFILE = """\
name: placed
sysctl:
  vm.swappiness: 10
  vm.stat_interval: ">= 10"
thp: {enabled: always, defrag: never}
irq: {rules: [{match: {class: nic}, cpus: "2"}]}
cpusets: {inference.slice: {cpus: 4-7}}
"""
QUIET = "name: quiet\nsysctl: {vm.swappiness: 10}\n"
FILES = [SYSCTL_D, TMPFILES_D, UDEV_RULES, *(f"{UNITS}/{unit}" for unit in (BOOT, IRQ, REPAIR, TIMER))]


class Host:
    """A fake host that can be restarted. `kernel` is lent to the commands; `tree`: what it comes up with each time."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, tree: dict[str, str]) -> None:
        self.folder, self.tree, self._boots = folder, tree, 1
        self._lend = lambda kernel: lend(kernel, folder, monkeypatch)
        self.kernel = self._start({})

    def apply(self, text: str = PROFILE, *words: str) -> Typed:
        (self.folder / "p.yaml").write_text(text, encoding="utf-8")
        return typed("apply", "p.yaml", "--yes", *words)

    def held(self, path: str) -> str:
        return self.kernel.files[path].strip()

    def reboot(self, *, boot_unit: bool = True) -> Typed | None:
        """What is in memory is gone; /etc is not. Early boot reads it, then the boot unit runs, if it is enabled."""
        kept = {path: text for path, text in self.kernel.state().items() if path.startswith("/etc/")}
        self._boots += 1
        self.kernel = self._start(kept)
        self._early_boot()
        if not boot_unit or f"{UNITS}/multi-user.target.wants/{BOOT}" not in self.kernel.links:
            return None
        return typed("reapply", "--boot")

    def _start(self, kept: dict[str, str]) -> FakeKernel:
        tree = host_tree(nodes=2, cpus_per_node=4, nics=1, remapping=True)
        tree |= {**self.tree, **kept, "/proc/sys/kernel/random/boot_id": f"boot-{self._boots}\n"}
        made = FakeKernel(tree)
        for link in [path for path in made.links if path.endswith(f".wants/{TIMER}")]:
            Systemd().start_unit(made, link.rpartition("/")[2])
        self._lend(made)
        return made

    def _early_boot(self) -> None:
        """systemd-sysctl and systemd-tmpfiles, for the lines that numatune writes."""
        for line in _lines(self.kernel.files.get(SYSCTL_D, "")):
            key, _, value = line.removeprefix("-").partition(" = ")
            self.kernel.write("/proc/sys/" + key.replace(".", "/"), value)
        for line in _lines(self.kernel.files.get(TMPFILES_D, "")):
            _, path, *_, value = line.split()
            self.kernel.write(path, value)


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line and not line.startswith("#"))


Make = Callable[..., Host]


def rows(said: Typed) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in said.json["settings"]}


def there(host: Host) -> list[str]:
    return [path for path in FILES if path in host.kernel.files]


def watched(host: Host) -> tuple[str, ...]:
    drop_in = "/run/systemd/system.control/inference.slice.d/50-AllowedCPUs.conf"
    return (SWAPPINESS, DEFRAG, MIN_FREE, mask(host), drop_in)


def state(host: Host) -> dict[str, str]:
    """All but what the fake remembers of units that it has stopped."""
    return {path: text for path, text in host.kernel.state().items() if not path.startswith("systemd: ")}


def different(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def mask(host: Host) -> str:
    """The mask file of the NIC's interrupt with index 1."""
    numbers = host.kernel.names(f"/sys/bus/pci/devices/{NIC}/msi_irqs")
    return f"/proc/irq/{numbers[1]}/smp_affinity_list"
