"""A set that survives a reboot, on a fake kernel: what is written, what a boot makes of it, and how all of it goes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.commands import Typed, lend, typed
from fakes.kernel import FakeKernel
from fakes.systemd import Systemd
from fakes.trees import host_tree

from numatune.api import log
from numatune.engine import store, when
from numatune.settings.applied import Waiting
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
    """A fake host that can be restarted. `kernel` is lent to the commands."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, tree: dict[str, str]) -> None:
        self.folder, self._tree, self._boots = folder, tree, 1
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
        tree |= {**self._tree, **kept, "/proc/sys/kernel/random/boot_id": f"boot-{self._boots}\n"}
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


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda **tree: Host(tmp_path, monkeypatch, tree.get("tree", {}))


@pytest.fixture
def host(make: Make) -> Host:
    return make()


def rows(said: Typed) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in said.json["settings"]}


def there(host: Host) -> list[str]:
    return [path for path in FILES if path in host.kernel.files]


def test_all_of_it_is_rows_of_the_plan(host: Host) -> None:
    (host.folder / "p.yaml").write_text(PROFILE, encoding="utf-8")
    plan = rows(typed("plan", "p.yaml", "--persist", "--json"))
    assert [sid for sid in plan if sid.startswith("persist:")] == [
        "persist:sysctl.d",
        "persist:tmpfiles.d",
        f"persist:{BOOT}",
        f"persist:{IRQ}",
        "persist:udev",
        f"persist:{REPAIR}",
        f"persist:{TIMER}",
        f"persist:{BOOT}/enabled",
        f"persist:{TIMER}/enabled",
        f"persist:{TIMER}/active",
    ]
    assert plan["persist:sysctl.d"]["action"] == "create"
    assert there(host) == []


def test_applied_twice_changes_nothing_the_second_time(host: Host) -> None:
    first = host.apply(PROFILE, "--persist", "--json")
    assert (first.code, first.err) == (0, "")
    assert there(host) == FILES
    before = state(host)
    again = host.apply(PROFILE, "--json")
    assert (again.code, again.json["run"]) == (0, None)
    assert state(host) == before
    assert typed("drift").screen == ""


def test_systemd_reads_new_unit_files_once(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    told = [what for what, text in host.kernel.log if text == "<run>" and "set-property" not in what]
    assert told == [
        "systemctl daemon-reload",
        f"systemctl --no-ask-password enable -- {BOOT}",
        f"systemctl --no-ask-password enable -- {TIMER}",
        f"systemctl --no-ask-password start -- {TIMER}",
    ]
    host.kernel.log.clear()
    host.apply(PROFILE, "--no-persist")
    told = [what for what, text in host.kernel.log if text == "<run>"]
    assert told == [
        f"systemctl --no-ask-password disable -- {BOOT}",
        f"systemctl --no-ask-password stop -- {TIMER}",
        f"systemctl --no-ask-password disable -- {TIMER}",
        "systemctl daemon-reload",
    ]


def test_the_choice_stays_until_it_is_taken_back(host: Host) -> None:
    before = state(host)
    host.apply(PROFILE, "--persist")
    host.apply(QUIET)
    assert there(host) == [SYSCTL_D, f"{UNITS}/{BOOT}"]
    plan = rows(typed("plan", "p.yaml", "--no-persist", "--json"))
    released = {sid: row["action"] for sid, row in plan.items() if row["action"] != "none"}
    assert released == dict.fromkeys(
        ["persist:sysctl.d", f"persist:{BOOT}", f"persist:{BOOT}/enabled"],
        "release",
    )
    host.apply(QUIET, "--no-persist")
    assert there(host) == []
    assert typed("drift").screen == ""
    host.apply(PROFILE)
    assert there(host) == []
    assert typed("rollback", "--all", "--yes").code == 0
    assert state(host) == before


def test_a_part_of_a_set_keeps_what_makes_the_whole_survive(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    before = host.held(SYSCTL_D)
    host.apply("name: placed\nsysctl: {vm.swappiness: 20}\n", "--only", "sysctl")
    assert host.held(SYSCTL_D) == before.replace("= 10", "= 20")
    assert there(host) == FILES
    host.apply("name: more\nsysctl: {vm.page-cluster: 0}\n", "--add", "--allow-unsafe", "x")
    assert "-vm.swappiness = 20" in host.held(SYSCTL_D)
    assert typed("drift").screen == ""


def test_a_part_may_also_start_or_end_it(host: Host) -> None:
    host.apply(PROFILE)
    (host.folder / "more.yaml").write_text("name: more\nsysctl: {vm.vfs_cache_pressure: 50}\n", encoding="utf-8")
    assert typed("apply", "more.yaml", "--add", "--persist", "--yes").code in {0, 2}
    assert there(host) == FILES
    assert "-vm.swappiness = 10" in host.held(SYSCTL_D)
    assert typed("apply", "more.yaml", "--add", "--no-persist", "--yes").code in {0, 2}
    assert there(host) == []
    assert host.held(SWAPPINESS) == "10"


def test_after_a_reboot_the_host_is_as_applied(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    wanted = {path: host.held(path) for path in watched(host)}
    said = host.reboot()
    assert said
    assert (said.code, said.err) == (0, "")
    assert {path: host.held(path) for path in wanted} == wanted
    assert typed("drift").screen == ""
    assert typed("drift", "-v").code == 0


def test_what_early_boot_cannot_keep_is_left_to_the_boot_unit(host: Host) -> None:
    """A bound, an interrupt, a unit's property: no line of sysctl.d or tmpfiles.d says those."""
    host.apply(PROFILE, "--persist")
    assert host.reboot(boot_unit=False) is None
    assert (host.held(SWAPPINESS), host.held(mask(host))) == ("10", "0-7")
    assert "[never]" in host.kernel.files[DEFRAG]
    assert host.held("/proc/sys/vm/stat_interval") == "1"
    drifted = typed("drift", "--json").json
    letters = {row["id"]: row["letters"] for row in drifted["settings"] if row["counted"]}
    assert set(letters.values()) == {"RM"}
    assert "sysctl:vm.stat_interval" in letters
    assert typed("reapply").code == 0
    assert typed("drift").screen == ""


def test_it_can_all_be_taken_back_before_a_reboot(host: Host) -> None:
    before = state(host)
    host.apply(PROFILE, "--persist")
    said = typed("rollback", "--yes")
    assert (said.code, said.err) == (0, "")
    assert state(host) == before


def test_it_can_all_be_taken_back_after_a_reboot(host: Host) -> None:
    """What a boot has made so again is numatune's, so a rollback needs no second reboot."""
    before = state(host)
    host.apply(PROFILE, "--persist")
    host.reboot()
    said = typed("rollback", "--yes")
    assert (said.code, said.err) == (0, "")
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id"}
    host.reboot()
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id"}


def test_several_runs_go_one_by_one_after_a_reboot(host: Host) -> None:
    host.apply(QUIET, "--persist")
    host.apply(QUIET.replace("10", "20"))
    host.reboot()
    assert host.held(SWAPPINESS) == "20"
    assert typed("rollback", "--yes").code == 0
    assert host.held(SWAPPINESS) == "10"
    assert typed("drift").screen == ""
    assert typed("rollback", "--yes").code == 0
    assert host.held(SWAPPINESS) == "60"
    assert there(host) == []


def test_what_a_run_no_longer_wanted_comes_back_with_it_after_a_reboot(host: Host) -> None:
    host.apply("name: two\nsysctl: {vm.swappiness: 10, vm.stat_interval: 20}\n", "--persist")
    host.apply(QUIET.replace("10", "20"))
    host.reboot()
    assert host.held("/proc/sys/vm/stat_interval") == "1"
    assert typed("rollback", "--yes").code == 0
    assert (host.held(SWAPPINESS), host.held("/proc/sys/vm/stat_interval")) == ("10", "20")
    assert typed("drift").screen == ""
    assert typed("rollback", "--yes").code == 0
    assert (host.held(SWAPPINESS), host.held("/proc/sys/vm/stat_interval")) == ("60", "1")


def test_after_a_reboot_what_somebody_moves_is_found_and_put_back(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.reboot()
    host.kernel.put(SWAPPINESS, "60\n")
    (row,) = [row for row in typed("drift", "--json").json["settings"] if row["counted"]]
    assert (row["id"], row["letters"]) == ("sysctl:vm.swappiness", "MM")
    said = typed("drift", "--repair")
    assert (said.code, host.held(SWAPPINESS)) == (0, "10")
    assert typed("rollback", "--yes").code == 0
    assert host.held(SWAPPINESS) == "60"


def test_what_somebody_changed_since_the_reboot_is_spared(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.reboot()
    host.kernel.put(SWAPPINESS, "33\n")
    said = typed("rollback", "--yes", "--json")
    assert said.code == 2
    assert host.held(SWAPPINESS) == "33"
    assert host.held(mask(host)) == "0-7"


def test_what_the_apply_found_as_wanted_and_a_boot_had_to_write_goes_back_too(make: Make) -> None:
    host = make(tree={SWAPPINESS: "10\n"})
    host.apply(QUIET.replace("sysctl: {", "sysctl: {vm.stat_interval: 10, "), "--persist")
    host._tree[SWAPPINESS] = "60\n"  # noqa: SLF001  # whoever had set it does no longer
    host.kernel.put(SYSCTL_D, "# emptied\n")
    said = host.reboot()
    assert said
    assert (said.code, host.held(SWAPPINESS)) == (0, "10")
    assert "-vm.swappiness = 10" in host.held(SYSCTL_D)
    typed("reapply")
    assert typed("rollback", "--yes").code == 0
    assert host.held(SWAPPINESS) == "60"
    assert there(host) == []


def test_it_goes_back_also_when_the_newest_run_is_a_rollback(make: Make) -> None:
    host = make(tree={"/proc/sys/vm/stat_interval": "10\n"})
    text = 'name: p\nsysctl: {vm.stat_interval: ">= 10", vm.swappiness: 10}\n'
    host.apply(text, "--persist")
    host.apply(text.replace("10}", "20}"))
    typed("rollback", "--yes")
    host.reboot()
    assert host.apply(text, "--json").json["run"] is None
    host._tree["/proc/sys/vm/stat_interval"] = "1\n"  # noqa: SLF001  # whoever had set it does no longer
    host.reboot()
    assert host.held("/proc/sys/vm/stat_interval") == "10"
    assert typed("rollback", "--yes").code == 0
    assert host.held("/proc/sys/vm/stat_interval") == "1"


def test_a_deleted_file_of_ours_is_drift(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.kernel.remove(UDEV_RULES)
    (row,) = [row for row in typed("drift", "--json").json["settings"] if row["counted"]]
    assert (row["id"], row["letters"]) == ("persist:udev", "DA")
    assert typed("reapply").code == 0
    assert there(host) == FILES


def test_interrupts_alone(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.kernel.put(mask(host), "0-7\n")
    host.kernel.put(SWAPPINESS, "60\n")
    said = typed("reapply", "--only", "irq")
    assert (said.code, host.held(mask(host)), host.held(SWAPPINESS)) == (0, "2", "60")
    assert f"irq:{NIC}/1" in said.out
    assert typed("reapply", "--only", "colour").err == (
        "numatune: --only: nothing of 'colour' is applied; accepted: cpusets, irq, net_queues, persist, sysctl, thp\n"
    )


def test_reapply_is_no_run(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    runs = sorted((host.folder / "state" / "runs").iterdir())
    applied = (host.folder / "state" / "applied.json").read_bytes()
    host.reboot()
    host.kernel.put(SWAPPINESS, "60\n")
    typed("reapply")
    assert sorted((host.folder / "state" / "runs").iterdir()) == runs
    assert (host.folder / "state" / "applied.json").read_bytes() == applied
    assert [run["run"] for run in typed("history", "--json").json["runs"]] == [1]


def test_what_is_held_is_left_alone(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    typed("hold", "sysctl:vm.stat_interval", "--for", "1h", "--why", "test")
    said = host.reboot()
    assert said
    assert (said.code, host.held("/proc/sys/vm/stat_interval")) == (0, "1")


def test_without_an_applied_set_it_says_so(host: Host) -> None:
    said = typed("reapply", "--boot")
    assert (said.code, said.err) == (
        1,
        "numatune: reapply: nothing is applied on this host (numatune apply PROFILE)\n",
    )
    assert host.kernel.log == []


ANEW = """\
name: anew
sysctl: {vm.stat_interval: "{{ 10 + (cpus.online | length) }}"}
launch: {cpu: exclusive}
services: {irqbalance: banned}
irq: {rules: [{match: {class: nic}, cpus: "2"}]}
"""
ONE_CPU_LESS = {"/sys/devices/system/cpu/online": "0-6\n"}


def test_what_was_worked_out_anew_is_taken_back_in_any_later_boot(host: Host) -> None:
    """Files outlive the boot that has written them anew; the run that made them is told."""
    before = state(host)
    host.apply(ANEW, "--persist")
    files = {path: text for path, text in host.kernel.state().items() if path.startswith("/etc/")}
    host._tree.update(ONE_CPU_LESS)  # noqa: SLF001  # a hotplug while it was off
    host.reboot()
    assert {path for path, text in files.items() if host.kernel.files.get(path, text) != text}, "else nothing is tested"
    for _ in range(2):
        host.reboot()
        assert typed("drift").code == 0
    said = typed("rollback", "--yes")
    assert (said.code, said.err) == (0, "")
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id", *ONE_CPU_LESS}


def test_a_file_that_only_the_host_of_today_needs_is_taken_back_in_any_later_boot(host: Host) -> None:
    before = state(host)
    host.apply("name: small\nsysctl: {vm.swappiness: 10}\nlaunch: {when: {cpus: '<8'}, cpu: exclusive}\n", "--persist")
    assert "/etc/numatune/launch" not in host.kernel.files
    host._tree.update(ONE_CPU_LESS)  # noqa: SLF001  # a hotplug while it was off
    host.reboot()
    assert "/etc/numatune/launch" in host.kernel.files
    host.reboot()
    assert typed("rollback", "--yes").code == 0
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id", *ONE_CPU_LESS}


def test_a_boot_of_a_host_that_the_profile_does_not_fit_any_more_goes_by_the_stored_values(host: Host) -> None:
    picky = 'vars: {share: "{{ 10 // ((cpus.online | length) - 7) }}"}\nsysctl: {vm.swappiness: "{{ vars.share }}"}\n'
    host.apply(f"name: picky\n{picky}irq: {{rules: [{{match: {{class: nic}}, cpus: '2'}}]}}\n", "--persist")
    host._tree.update(ONE_CPU_LESS)  # noqa: SLF001  # a hotplug while it was off
    said = host.reboot()
    assert said is not None
    assert (said.code, said.err) == (0, "")
    assert (host.held(SWAPPINESS), host.held(mask(host))) == ("10", "2")
    assert typed("reapply").code == 1, "somebody is there to read why"


def test_what_was_worked_out_anew_and_then_applied_over_is_given_back_as_it_was_first(host: Host) -> None:
    before = state(host)
    host.apply(ANEW, "--persist")
    host._tree.update(ONE_CPU_LESS)  # noqa: SLF001  # a hotplug while it was off
    host.reboot()
    assert host.held("/proc/sys/vm/stat_interval") == "17"
    assert host.apply("name: other\nsysctl: {vm.stat_interval: 55}\n").code == 0
    assert typed("rollback", "--all", "--yes").code == 0
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id", *ONE_CPU_LESS}


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


def test_interrupts_with_other_numbers_are_the_same_interrupts(host: Host) -> None:
    """Drivers are bound in another order at every boot: no reason to work anything out anew."""
    host.apply(PROFILE, "--persist")
    folder = f"/sys/bus/pci/devices/{NIC}/msi_irqs"
    first, last = host.kernel.names(folder)[0], host.kernel.names(folder)[-1]
    index = {number: host.kernel.files[f"/sys/kernel/irq/{number}/hwirq"] for number in (first, last)}
    host.kernel.put(f"/sys/kernel/irq/{first}/hwirq", index[last])
    host.kernel.put(f"/sys/kernel/irq/{last}/hwirq", index[first])
    assert "anew" not in typed("drift", "-v").screen
    host.kernel.put(f"/sys/kernel/irq/{last}/hwirq", "99\n")
    assert f"{NIC} has other interrupts than at the last apply" in typed("drift", "-v").screen


def test_a_run_that_nobody_confirmed_before_the_reboot_is_taken_back(host: Host) -> None:
    """It may be why the host went down; a boot that made it so again would cut the way to the host once more."""
    host.apply(QUIET, "--persist")
    host.apply(PROFILE)
    waiting = Waiting(2, when.stamp(600), "alice", "boot-1", "systemd", unit="numatune-confirm-2")
    store.save(str(host.folder / "state" / "confirm.json"), waiting)
    said = host.reboot()
    assert said
    assert (said.code, host.held(mask(host)), host.held(SWAPPINESS)) == (0, "0-7", "10")
    assert there(host) == [SYSCTL_D, f"{UNITS}/{BOOT}"]
    assert typed("drift").screen == ""
    assert typed("reapply", "--boot").code == 0
    assert [run["run"] for run in typed("history", "--json").json["runs"]] == [1, 2, 3]


def test_a_first_run_that_nobody_confirmed_leaves_nothing_not_even_what_early_boot_has_set(host: Host) -> None:
    before = state(host)
    host.apply(PROFILE, "--persist")
    waiting = Waiting(1, when.stamp(600), "alice", "boot-1", "systemd", unit="numatune-confirm-1")
    store.save(str(host.folder / "state" / "confirm.json"), waiting)
    said = host.reboot()
    assert said
    assert (said.code, said.screen) == (0, "")
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id"}


def test_what_an_older_numatune_stored_is_read(host: Host) -> None:
    """Format 1 knew neither what persists nor what a boot has made so again."""
    host.apply()
    path = host.folder / "state" / "applied.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert "program" not in stored["holds"], "left out where nothing persists"
    path.write_text(json.dumps({**stored, "format": 1}), encoding="utf-8")
    assert typed("drift").code == 0
    assert host.apply(PROFILE, "--persist").code == 0
    assert there(host) == FILES


def test_a_boot_loads_the_standard_library_only(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.reboot(boot_unit=False)
    kernel = {**host.kernel.files, **{path: f"-> {target}" for path, target in host.kernel.links.items()}}
    (host.folder / "kernel.json").write_text(json.dumps([kernel, host.kernel.modes]), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", REAPPLY, str(host.folder)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    loaded, put_back = json.loads(ran.stdout)
    assert "numatune.api.reapplying" in loaded
    assert put_back >= 5
    heavy = ("pydantic", "jinja2", "yaml", "rich", "pytest", "numatune.profile", "numatune.knobs", "numatune.export")
    assert [name for name in loaded if name.startswith(heavy)] == []


REAPPLY = """
import json, sys
from pathlib import Path
sys.path.insert(0, ".")
from fakes.kernel import FakeKernel
before = set(sys.modules)
from numatune.engine import paths
folder = Path(sys.argv[1])
paths.lock = lambda root="/": str(folder / "lock")
paths.state = lambda root="/": str(folder / "state")
from numatune import api
tree, modes = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
found = api.reapply(FakeKernel(tree, modes=modes), boot=True)
assert not found.anew, found.anew
print(json.dumps([sorted(set(sys.modules) - before), sum(row.repaired for row in found.rows)]))
"""


LEAVE = """\
name: leave
sysctl: {vm.min_free_kbytes: 4000000, vm.compaction_proactiveness: 30}
"""


def test_what_needed_leave_is_left_to_the_boot_unit_which_has_it_too(host: Host) -> None:
    allowed = ("--allow-unsafe", "sysctl:vm.min_free_kbytes", "--allow-disruption")
    assert host.apply(LEAVE, "--persist", *allowed).code == 0
    assert SYSCTL_D not in host.kernel.files
    host.reboot(boot_unit=False)
    said = typed("reapply", "--boot")
    assert (said.code, host.held(MIN_FREE)) == (0, "4000000")
    assert host.held("/proc/sys/vm/compaction_proactiveness") == "30"
    assert typed("drift").screen == ""
    host.kernel.put(MIN_FREE, "67584\n")
    assert typed("reapply", "--boot").code == 0
    assert host.held(MIN_FREE) == "67584", "once in a boot: work may run by now"
    host.reboot(boot_unit=False)
    said = typed("reapply")
    assert (said.code, host.held(MIN_FREE)) == (2, "67584"), "by hand it has none"


def test_what_had_no_leave_at_the_apply_has_none_at_boot(host: Host) -> None:
    assert host.apply(LEAVE, "--persist").code == 2
    said = host.reboot()
    assert said
    assert (said.code, host.held(MIN_FREE)) == (0, "67584")
    assert host.held("/proc/sys/vm/compaction_proactiveness") == "20"


def test_a_boot_that_does_not_get_there_says_so_and_ends_with_0(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "line", lines.append)
    host.apply(PROFILE, "--persist")
    host.reboot(boot_unit=False)
    host.kernel.modes["/proc/sys/vm/stat_interval"] = 0o444
    said = typed("reapply", "--boot")
    assert said.code == 0
    assert "sysctl:vm.stat_interval" in said.out
    assert lines[-1] == "at boot 1 settings are not as applied: sysctl:vm.stat_interval"
    assert typed("reapply").code == 2
    assert typed("reapply", "--differences-ok").code == 0
    (row,) = [row for row in typed("drift", "--json").json["settings"] if row["counted"]]
    assert row["letters"] == "R!", "a refused write has not brought it back"
    host.kernel.modes.clear()
    host.kernel.put("/proc/sys/vm/stat_interval", "7\n")
    assert typed("rollback", "--yes").code == 0
    assert host.held("/proc/sys/vm/stat_interval") == "7", "not numatune's in this boot"
