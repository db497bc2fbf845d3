"""Drift and repair as a whole: a profile is applied to a fake kernel, things move, and drift tells or puts back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.refusals import Clamps, Refuses
from fakes.trees import Tree, host_tree
from fakes.usual import USUAL

from numatune import api
from numatune.api import log
from numatune.api.planning import Request
from numatune.engine import journal, paths, repair, store, when
from numatune.errors import NumatuneError
from numatune.settings.applied import Hold, Holds
from numatune.settings.drift import Drift
from numatune.settings.journal import Repaired

SWAPPINESS, CLUSTER = "/proc/sys/vm/swappiness", "/proc/sys/vm/page-cluster"
MIN_FREE = "/proc/sys/vm/min_free_kbytes"
PROFILE = """\
name: mine
sysctl:
  vm.swappiness: 10
  vm.page-cluster: 0
  vm.stat_interval: "{{ cpus.online | length }}"
"""


def tree() -> Tree:
    made = host_tree()
    made[CLUSTER] = "3\n"
    return made


class Machine:
    """A fake host with a state folder and profiles of its own."""

    def __init__(self, folder: Path, kernel: FakeKernel) -> None:
        self.folder, self.kernel = folder, kernel

    def profile(self, text: str, name: str = "mine.yaml") -> Request:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return Request(profiles=(str(path),))

    def apply(self, text: str = PROFILE) -> None:
        api.apply(self.kernel, self.profile(text))

    def move(self, path: str, text: str) -> None:
        self.kernel.put(path, f"{text}\n")

    def held(self, path: str) -> str:
        return self.kernel.files[path].strip()

    def state(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (self.folder / "state").rglob("*") if path.is_file()}

    def hold(self, id_: str) -> None:
        now = when.stamp()
        held = Hold(id_, "alice", now, when.stamp(3600), "test")
        store.save(str(self.folder / "state" / "holds.json"), Holds((held,)))


Make = Callable[..., Machine]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(paths, "lock", lambda _root="/": str(tmp_path / "lock"))
    return lambda **options: Machine(tmp_path, FakeKernel(tree(), **options))


@pytest.fixture
def machine(make: Make) -> Machine:
    made = make()
    made.apply()
    return made


def letters(found: Drift) -> dict[str, str]:
    return {row.change.setting.id.removeprefix("sysctl:vm."): row.letters for row in found.rows}


def counted(found: Drift) -> list[str]:
    return [row.change.setting.id.removeprefix("sysctl:vm.") for row in found.rows if row.counted]


def test_right_after_apply_nothing_has_moved(machine: Machine) -> None:
    assert api.clean(machine.kernel)
    found = api.drift(machine.kernel)
    assert letters(found) == {"swappiness": "  ", "page-cluster": "  ", "stat_interval": "  "}
    assert (found.counted, found.stored, found.run, found.anew) == (0, True, 1, "")
    assert [info.name for info in found.profiles] == ["mine"]


def test_what_moved_is_told_with_who_else_sets_it(machine: Machine) -> None:
    machine.move(SWAPPINESS, "60")
    machine.kernel.put("/etc/sysctl.d/50-x.conf", "vm.swappiness = 60\n")
    assert not api.clean(machine.kernel)
    found = api.drift(machine.kernel)
    assert letters(found)["swappiness"] == "MM"
    assert counted(found) == ["swappiness"]
    (row,) = (row for row in found.rows if row.counted)
    assert [conflict.where for conflict in row.change.seen.conflicts] == ["/etc/sysctl.d/50-x.conf:1"]


def test_drift_writes_nothing(machine: Machine) -> None:
    machine.move(SWAPPINESS, "60")
    machine.kernel.put("/proc/sys/kernel/osrelease", "9.9\n")
    before, writes = machine.state(), len(machine.kernel.log)
    api.drift(machine.kernel)
    api.drift(machine.kernel, machine.profile(PROFILE))
    api.clean(machine.kernel)
    assert machine.state() == before
    assert len(machine.kernel.log) == writes


def test_without_an_applied_set_drift_says_how_to_go_on(make: Make) -> None:
    with pytest.raises(NumatuneError, match=r"nothing is applied.*numatune drift PROFILE"):
        api.drift(make().kernel)


def test_a_profile_can_be_compared_before_it_is_ever_applied(make: Make) -> None:
    machine = make()
    found = api.drift(machine.kernel, machine.profile(PROFILE))
    assert set(letters(found).values()) <= {"-M", "- "}
    assert found.since == ""


def test_compared_with_another_profile_what_it_would_change_and_release_counts(machine: Machine) -> None:
    other = machine.profile("name: other\nsysctl: {vm.swappiness: 20, vm.page-cluster: 0}\n", "other.yaml")
    found = api.drift(machine.kernel, other)
    assert letters(found) == {"swappiness": " M", "page-cluster": "  ", "stat_interval": " X"}
    assert counted(found) == ["swappiness", "stat_interval"]


def test_a_changed_profile_file_does_not_matter_to_bare_drift(machine: Machine) -> None:
    machine.profile(PROFILE.replace("10", "20"))
    assert api.drift(machine.kernel).counted == 0


def test_a_topology_that_changed_has_the_values_worked_out_anew_in_memory(machine: Machine) -> None:
    (machine.folder / "mine.yaml").unlink()
    machine.move("/sys/devices/system/cpu/online", "0-6")
    found = api.drift(machine.kernel)
    assert "other nodes, CPUs" in found.anew
    assert letters(found)["stat_interval"] == " M"
    (row,) = (row for row in found.rows if row.counted)
    assert row.change.setting.want == "7"


def test_after_a_reboot_what_the_kernel_reset_is_told_as_such(machine: Machine) -> None:
    machine.move("/proc/sys/kernel/random/boot_id", "another")
    machine.move(SWAPPINESS, "60")
    assert not api.clean(machine.kernel)
    found = api.drift(machine.kernel)
    assert (letters(found)["swappiness"], letters(found)["page-cluster"]) == ("RM", "  ")
    assert found.rebooted


def test_a_default_that_a_new_image_brought_back_is_told_by_the_cron_check(make: Make) -> None:
    """kernel.numa_balancing was 1 again after an update of the image: awslabs/amazon-eks-ami#2741."""
    balancing = "/proc/sys/kernel/numa_balancing"
    machine = make()
    machine.apply("name: mine\nsysctl: {kernel.numa_balancing: 0}\n")
    machine.move("/proc/sys/kernel/random/boot_id", "of the new image")
    machine.move(balancing, "1")
    found = api.drift(machine.kernel)
    assert (found.counted, found.rebooted) == (1, True)
    assert letters(found) == {"sysctl:kernel.numa_balancing": "RM"}
    machine.apply("name: mine\nsysctl: {kernel.numa_balancing: 0}\n")
    assert (machine.held(balancing), api.drift(machine.kernel).counted) == ("0", 0)


def test_what_the_last_apply_could_not_do_is_quiet_until_it_moves(make: Make) -> None:
    machine = make(behaviours=(Refuses(SWAPPINESS, 22), Clamps(CLUSTER, 2), *USUAL))
    machine.apply("name: mine\nsysctl: {vm.swappiness: 10, vm.page-cluster: 5}\n")
    found = api.drift(machine.kernel)
    assert letters(found) == {"swappiness": " M", "page-cluster": " !"}
    assert found.counted == 0
    assert api.clean(machine.kernel)
    machine.move(CLUSTER, "1")
    assert counted(api.drift(machine.kernel)) == ["page-cluster"]


def test_a_held_row_is_shown_and_not_counted(machine: Machine) -> None:
    machine.move(SWAPPINESS, "60")
    machine.hold("sysctl:vm.swappiness")
    found = api.drift(machine.kernel)
    assert found.counted == 0
    assert [row.change.held.startswith("held by alice") for row in found.rows if row.change.held] == [True]


def test_applying_some_sections_keeps_the_rest_of_the_set(machine: Machine) -> None:
    thp = machine.profile("name: t\nthp: {enabled: always}\nsysctl: {vm.swappiness: 20}\n", "t.yaml")
    api.apply(machine.kernel, Request(profiles=thp.profiles, only=("thp",)))
    found = letters(api.drift(machine.kernel))
    assert found["thp:enabled"] == found["swappiness"] == "  "
    assert machine.held(SWAPPINESS) == "10"


def test_adding_a_profile_keeps_what_is_applied(machine: Machine) -> None:
    more = machine.profile("name: more\nsysctl: {vm.swappiness: 20, vm.max_map_count: 131072}\n", "more.yaml")
    api.apply(machine.kernel, Request(profiles=more.profiles, add=True))
    found = api.drift(machine.kernel)
    assert set(letters(found)) == {"swappiness", "page-cluster", "stat_interval", "max_map_count"}
    assert (found.counted, machine.held(SWAPPINESS)) == (0, "20")
    assert [info.name for info in found.profiles] == ["mine", "more"]


def test_a_rollback_brings_the_set_of_before_back(machine: Machine) -> None:
    other = machine.profile("name: other\nsysctl: {vm.swappiness: 20}\n", "other.yaml")
    api.apply(machine.kernel, other)
    assert machine.held(CLUSTER) == "3"
    api.rollback(machine.kernel)
    assert (machine.held(CLUSTER), machine.held(SWAPPINESS)) == ("0", "10")
    found = api.drift(machine.kernel)
    assert ([info.name for info in found.profiles], found.counted) == (["mine"], 0)
    api.rollback(machine.kernel)
    with pytest.raises(NumatuneError, match="nothing is applied"):
        api.drift(machine.kernel)


def test_a_release_that_was_held_is_offered_again_when_the_hold_has_ended(machine: Machine) -> None:
    other = "name: other\nsysctl: {vm.page-cluster: 0}\n"
    machine.hold("sysctl:vm.swappiness")
    machine.apply(other)
    assert machine.held(SWAPPINESS) == "10"
    machine.hold("sysctl:vm.page-cluster")
    machine.apply(other)
    assert machine.held(SWAPPINESS) == "60"


def test_a_held_value_is_not_written_when_the_kernel_moves_it_meanwhile(make: Make) -> None:
    """Writing transparent_hugepage/enabled has the kernel raise vm.min_free_kbytes."""
    machine = make()
    machine.move(MIN_FREE, "40000")
    machine.apply("name: t\nsysctl: {vm.min_free_kbytes: 50000}\n")
    machine.move(MIN_FREE, "40000")
    machine.hold("sysctl:vm.min_free_kbytes")
    machine.apply("name: t\nthp: {enabled: always}\nsysctl: {vm.min_free_kbytes: 50000}\n")
    assert (MIN_FREE, "50000") not in machine.kernel.log[1:]


def test_what_was_kept_on_purpose_is_not_offered_again(machine: Machine) -> None:
    other = machine.profile("name: other\nsysctl: {vm.page-cluster: 0}\n", "other.yaml")
    api.apply(machine.kernel, Request(profiles=other.profiles, keep_released=True))
    api.apply(machine.kernel, other)
    assert machine.held(SWAPPINESS) == "10"
    api.rollback(machine.kernel, every=True)
    assert machine.kernel.state() == FakeKernel(tree()).state()


def repaired(found: Drift) -> list[str]:
    return [row.change.setting.id for row in found.rows if row.repaired]


def test_repair_puts_back_what_somebody_moved_and_notes_it_in_the_run(machine: Machine) -> None:
    machine.move(SWAPPINESS, "60")
    found = api.repair(machine.kernel)
    assert repaired(found) == ["sysctl:vm.swappiness"]
    assert (found.counted, machine.held(SWAPPINESS)) == (0, "10")
    file = machine.folder / "state" / "runs" / "000001.jsonl"
    noted = [record for record in journal.read(str(file)) if isinstance(record, Repaired)]
    assert [(record.id, record.moved_to) for record in noted] == [("sysctl:vm.swappiness", "60\n")]
    assert [path.name for path in sorted(file.parent.glob("*.jsonl"))] == ["000001.jsonl"]
    assert api.clean(machine.kernel)


def test_rollback_after_a_repair_gives_the_first_originals_back(machine: Machine) -> None:
    start = FakeKernel(tree()).state()
    machine.move(SWAPPINESS, "33")
    api.repair(machine.kernel)
    api.rollback(machine.kernel)
    assert machine.kernel.state() == start


def test_repair_stops_after_three_times_in_a_day_and_says_who_keeps_setting_it(machine: Machine) -> None:
    machine.kernel.put("/proc/812/comm", "tuned\n")
    for _ in range(3):
        machine.move(SWAPPINESS, "60")
        assert repaired(api.repair(machine.kernel)) == ["sysctl:vm.swappiness"]
    machine.move(SWAPPINESS, "60")
    found = api.repair(machine.kernel)
    assert (repaired(found), machine.held(SWAPPINESS)) == ([], "60")
    (row,) = (row for row in found.rows if row.counted)
    assert row.note == "put back 3 times within 24 hours and left alone now: tuned (pid 812) keeps setting it"


def test_repairs_of_more_than_a_day_ago_do_not_matter(machine: Machine) -> None:
    file = str(machine.folder / "state" / "runs" / "000001.jsonl")
    for _ in range(3):
        journal.note(file, Repaired("sysctl:vm.swappiness", when.stamp(-when.DAY - 5), "60\n"))
    machine.move(SWAPPINESS, "60")
    assert repaired(api.repair(machine.kernel)) == ["sysctl:vm.swappiness"]


def test_repair_leaves_alone_what_numatune_never_set(make: Make) -> None:
    machine = make()
    machine.move(SWAPPINESS, "10")
    machine.apply()
    machine.move(SWAPPINESS, "60")
    found = api.repair(machine.kernel)
    assert (repaired(found), counted(found), machine.held(SWAPPINESS)) == ([], ["swappiness"], "60")
    assert "left alone: numatune found it so, did not set it" in {row.note for row in found.rows}


def test_repair_leaves_alone_what_is_held(machine: Machine) -> None:
    machine.move(SWAPPINESS, "60")
    machine.hold("*")
    assert repaired(api.repair(machine.kernel)) == []
    assert machine.held(SWAPPINESS) == "60"


def test_repair_leaves_alone_what_a_reboot_reset(machine: Machine) -> None:
    machine.move("/proc/sys/kernel/random/boot_id", "another")
    machine.move(SWAPPINESS, "60")
    found = api.repair(machine.kernel)
    assert (repaired(found), counted(found)) == ([], ["swappiness"])


def test_repair_leaves_alone_what_running_work_would_feel(make: Make) -> None:
    machine = make()
    machine.apply("name: t\nthp: {enabled: always}\n")
    machine.kernel.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    found = api.repair(machine.kernel)
    (row,) = (row for row in found.rows if row.counted)
    assert row.change.impact.value != "live"
    assert (row.repaired, row.note) == (False, "left alone: only new processes would get it")


def test_a_repair_that_is_refused_says_so_and_counts(make: Make) -> None:
    machine = make()
    machine.apply()
    machine.move(SWAPPINESS, "60")
    machine.kernel.behaviours = (Refuses(SWAPPINESS, 22), *machine.kernel.behaviours)
    found = api.repair(machine.kernel)
    (row,) = (row for row in found.rows if row.counted)
    assert row.note.startswith("could not be put back: ")


def test_repair_waits_for_the_rollback_of_a_run_that_was_cut_off(machine: Machine) -> None:
    file = machine.folder / "state" / "runs" / "000001.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    machine.move(SWAPPINESS, "60")
    found = api.repair(machine.kernel)
    (row,) = (row for row in found.rows if row.counted)
    assert (machine.held(SWAPPINESS), row.note) == ("60", repair.CUT_OFF)


def test_every_repair_and_every_refused_one_is_told_to_syslog(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(log, "line", told.append)
    machine.move(SWAPPINESS, "60")
    api.repair(machine.kernel)
    assert len(told) == 1
    assert told[0].endswith(": put back sysctl:vm.swappiness: 60 -> 10")


def test_a_captured_tree_has_no_applied_set(make: Make) -> None:
    machine = make(live=False)
    with pytest.raises(NumatuneError, match="nothing is applied on this captured tree"):
        api.drift(machine.kernel)
    assert not api.clean(machine.kernel)
    assert api.drift(machine.kernel, machine.profile(PROFILE)).counted == 3


def test_a_clean_host_is_not_touched_by_repair(machine: Machine) -> None:
    before, writes = machine.state(), len(machine.kernel.log)
    assert api.repair(machine.kernel).counted == 0
    assert (machine.state(), len(machine.kernel.log)) == (before, writes)


NAMES = """\
name: mine
irq:
  rules:
    - {match: {class: nic, vector: "*TxRx*"}, cpus: local, spread: core}
    - {match: {class: nic}, cpus: all}
"""


def test_a_link_that_goes_down_takes_the_names_and_changes_nothing(make: Make) -> None:
    """The names of the last apply are remembered: else other rules would get the interrupts, or the old masks back."""
    machine = make()
    kernel = machine.kernel = FakeKernel(host_tree(nodes=2, nics=[{"node": 1, "queues": 3}], remapping=True))
    machine.apply(NAMES)
    masks = {path: text for path, text in kernel.files.items() if path.endswith("/smp_affinity_list")}
    assert {"4\n", "5\n", "6\n"} <= set(masks.values())
    for path in [path for path, text in kernel.files.items() if path.endswith("/actions") and "TxRx" in text]:
        kernel.files[path] = "\n"
    assert api.plan(kernel, machine.profile(NAMES)).to_do == ()
    assert api.drift(kernel, machine.profile(NAMES)).counted == 0
    machine.apply(NAMES)
    assert {path: kernel.files[path] for path in masks} == masks
