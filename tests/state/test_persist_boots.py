"""After a reboot, on a fake kernel: the host is as applied, and all of it can be taken back all the same."""

from __future__ import annotations

from fakes.commands import typed
from fakes.reboots import (
    DEFRAG,
    PROFILE,
    QUIET,
    SWAPPINESS,
    Host,
    Make,
    different,
    mask,
    state,
    there,
    watched,
)

from numatune.engine import store, when
from numatune.settings.applied import Waiting
from numatune.settings.persisted import BOOT, SYSCTL_D, UNITS


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
    host.tree[SWAPPINESS] = "60\n"  # whoever had set it does no longer
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
    host.tree["/proc/sys/vm/stat_interval"] = "1\n"  # whoever had set it does no longer
    host.reboot()
    assert host.held("/proc/sys/vm/stat_interval") == "10"
    assert typed("rollback", "--yes").code == 0
    assert host.held("/proc/sys/vm/stat_interval") == "1"


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
