"""A kill at any step of what makes a set survive, of what a boot does, and of the way back."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.kills import life
from fakes.trees import host_tree

PROFILE = """\
name: placed
sysctl: {vm.swappiness: 10, vm.stat_interval: ">= 10"}
thp: {enabled: never}
irq: {rules: [{match: {class: nic, vector: "*-TxRx-1"}, cpus: "2"}]}
"""
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass
class World:
    """A host, and the folder of its state. `copy` leaves both as they are."""

    kernel: FakeKernel
    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def copy(self, name: str) -> World:
        folder = self.folder.parent / name
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("lock"))
        made = World(self.kernel.copy(), folder, self.monkeypatch)
        lend(made.kernel, folder, self.monkeypatch)
        return made

    def killed(self, left: int, *argv: str) -> bool:
        with life(left, self.kernel, self.monkeypatch) as one:
            typed(*argv)
        return one.died

    def reboot(self) -> None:
        """Memory is gone. Early boot is left out: the boot unit has everything to do."""
        fresh = host(self.kernel.files[BOOT_ID].strip() + "+")
        for path, text in self.kernel.state().items():
            if path.startswith("/etc/"):
                fresh.put(path, text)
        self.kernel = fresh
        lend(fresh, self.folder, self.monkeypatch)


def host(boot_id: str) -> FakeKernel:
    tree = host_tree(nodes=2, nics=1, remapping=True)
    return FakeKernel(tree | {BOOT_ID: f"{boot_id}\n", "/etc/networkd-dispatcher/": ""})


def held(kernel: FakeKernel) -> dict[str, str]:
    """All but the name of the boot, and what the fake remembers of units that it has stopped."""
    return {path: text for path, text in kernel.state().items() if path != BOOT_ID and not path.startswith("systemd: ")}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    folder = tmp_path / "world"
    folder.mkdir()
    (folder / "p.yaml").write_text(PROFILE, encoding="utf-8")
    made = World(host("boot"), folder, monkeypatch)
    lend(made.kernel, folder, monkeypatch)
    return made


APPLY = ("apply", "p.yaml", "--persist", "--yes")


def test_killed_while_it_is_written(world: World) -> None:
    before = held(world.kernel)
    for left in count():
        one = world.copy(f"apply{left}")
        if not one.killed(left, *APPLY):
            assert left > 30
            return
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)


def test_killed_while_it_is_taken_away(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    for left in count():
        one = world.copy(f"rollback{left}")
        died = one.killed(left, "rollback", "--yes")
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)
        if not died:
            assert left > 30
            return


def test_killed_at_boot_the_next_one_finishes_and_all_of_it_can_be_taken_back(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    applied = held(world.kernel)
    world.reboot()
    for left in count():
        one = world.copy(f"boot{left}")
        died = one.killed(left, "reapply", "--boot")
        other = one.copy(f"again{left}")
        assert (typed("reapply", "--boot").code, held(other.kernel)) == (0, applied), left
        said = typed("rollback", "--yes")
        assert (said.code, held(other.kernel)) == (0, before), (left, said)
        lend(one.kernel, one.folder, one.monkeypatch)
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)
        if not died:
            assert left > 10
            return


def test_killed_while_it_is_taken_away_after_a_reboot(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    world.reboot()
    assert typed("reapply", "--boot").code == 0
    for left in count():
        one = world.copy(f"rollback{left}")
        died = one.killed(left, "rollback", "--yes")
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)
        if not died:
            assert left > 30
            return


def test_a_power_cut_in_a_rollback_then_two_boots(world: World) -> None:
    """The first boot finishes it: what was taken away would be made again, and be nobody's in the second boot."""
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    for left in count(0, 2):
        one = world.copy(f"cut{left}")
        died = one.killed(left, "rollback", "--yes")
        for _ in range(2):
            one.reboot()
            typed("reapply", "--boot")
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)
        if not died:
            assert left > 30
            return


def test_a_rollback_that_was_cut_off_is_not_undone(world: World) -> None:
    assert typed(*APPLY).code == 0
    for left in count(0, 5):
        one = world.copy(f"undone{left}")
        if not one.killed(left, "rollback", "--yes"):
            assert left > 20
            return
        if len(list((one.folder / "state" / "runs").glob("*.jsonl"))) == 1:
            continue
        half_way = held(one.kernel)
        typed("reapply")
        typed("reapply", "--only", "irq")
        assert held(one.kernel) == half_way, left


def test_a_power_cut_in_an_apply_then_a_boot_then_the_way_back(world: World) -> None:
    """The boot makes the host as the last whole apply says, and takes back what was cut off; so does the one after."""
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    applied = held(world.kernel)
    other = PROFILE.replace("10}", "20}").replace("swappiness: 10", "swappiness: 20").replace("never", "madvise")
    for left in count(0, 3):
        one = world.copy(f"cut{left}")
        (one.folder / "p.yaml").write_text(other, encoding="utf-8")
        if not one.killed(left, "apply", "p.yaml", "--yes"):
            assert left > 30
            return
        for _ in range(1 + left % 2):
            one.reboot()
            assert typed("reapply", "--boot").code == 0
            assert held(one.kernel) == applied, left
        said = typed("rollback", "--all", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)


def test_a_power_cut_while_files_are_released_then_two_boots(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    for left in count(1, 3):
        one = world.copy(f"cut{left}")
        died = one.killed(left, "apply", "p.yaml", "--no-persist", "--yes")
        for _ in range(2):
            one.reboot()
            typed("reapply", "--boot")
        said = typed("rollback", "--all", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (left, said)
        if not died:
            assert left > 30
            return
