"""A kill at any step of what makes a set survive, of what a boot does, and of the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import worlds
from fakes.commands import typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

PROFILE = """\
name: placed
sysctl: {vm.swappiness: 10, vm.stat_interval: ">= 10"}
thp: {enabled: never}
irq: {rules: [{match: {class: nic, vector: "*-TxRx-1"}, cpus: "2"}]}
"""
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class World(worlds.World):
    """Which can be restarted."""

    def reboot(self) -> None:
        """Memory is gone. Early boot is left out: the boot unit has everything to do."""
        fresh = host(self.kernel.files[BOOT_ID].strip() + "+")
        for path, text in self.kernel.state().items():
            if path.startswith("/etc/"):
                fresh.put(path, text)
        self.kernel = fresh
        self.enter()


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
    made.enter()
    return made


APPLY = ("apply", "p.yaml", "--persist", "--yes")


def test_killed_while_it_is_written(world: World) -> None:
    before = held(world.kernel)
    for one in world.lives(*APPLY, least=30):
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)


def test_killed_while_it_is_taken_away(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    for one in world.lives("rollback", "--yes", least=30):
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)


def test_killed_at_boot_the_next_one_finishes_and_all_of_it_can_be_taken_back(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    applied = held(world.kernel)
    world.reboot()
    for one in world.lives("reapply", "--boot", least=10):
        other = one.copy(f"again{one.left}")
        assert (typed("reapply", "--boot").code, held(other.kernel)) == (0, applied), one.left
        said = typed("rollback", "--yes")
        assert (said.code, held(other.kernel)) == (0, before), (one.left, said)
        one.enter()
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)


def test_killed_while_it_is_taken_away_after_a_reboot(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    world.reboot()
    assert typed("reapply", "--boot").code == 0
    for one in world.lives("rollback", "--yes", least=30):
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)


def test_a_power_cut_in_a_rollback_then_two_boots(world: World) -> None:
    """The first boot finishes it: what was taken away would be made again, and be nobody's in the second boot."""
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    for one in world.lives("rollback", "--yes", least=30, step=2):
        for _ in range(2):
            one.reboot()
            typed("reapply", "--boot")
        said = typed("rollback", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)


def test_a_rollback_that_was_cut_off_is_not_undone(world: World) -> None:
    assert typed(*APPLY).code == 0
    for one in world.lives("rollback", "--yes", step=5):
        if len(list((one.folder / "state" / "runs").glob("*.jsonl"))) == 1:
            continue
        half_way = held(one.kernel)
        typed("reapply")
        typed("reapply", "--only", "irq")
        assert held(one.kernel) == half_way, one.left


def test_a_power_cut_in_an_apply_then_a_boot_then_the_way_back(world: World) -> None:
    """The boot makes the host as the last whole apply says, and takes back what was cut off; so does the one after."""
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    applied = held(world.kernel)
    other = PROFILE.replace("10}", "20}").replace("swappiness: 10", "swappiness: 20").replace("never", "madvise")
    (world.folder / "p.yaml").write_text(other, encoding="utf-8")
    for one in world.lives("apply", "p.yaml", "--yes", least=30, step=3):
        if not one.died:
            continue
        for _ in range(1 + one.left % 2):
            one.reboot()
            assert typed("reapply", "--boot").code == 0
            assert held(one.kernel) == applied, one.left
        said = typed("rollback", "--all", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)


def test_a_power_cut_while_files_are_released_then_two_boots(world: World) -> None:
    before = held(world.kernel)
    assert typed(*APPLY).code == 0
    for one in world.lives("apply", "p.yaml", "--no-persist", "--yes", least=30, start=1, step=3):
        for _ in range(2):
            one.reboot()
            typed("reapply", "--boot")
        said = typed("rollback", "--all", "--yes")
        assert (said.code, held(one.kernel)) == (0, before), (one.left, said)
