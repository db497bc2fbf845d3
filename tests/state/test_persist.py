"""A set that survives a reboot, on a fake kernel: what is written, for how long, and how all of it goes."""

from __future__ import annotations

import json

from fakes.commands import typed
from fakes.reboots import (
    FILES,
    PROFILE,
    QUIET,
    SWAPPINESS,
    Host,
    Make,
    different,
    rows,
    state,
    there,
)
from fakes.systemd import Systemd

from numatune.settings.persisted import BOOT, HOOK, IRQ, REPAIR, SYSCTL_D, TIMER, UDEV_RULES, UNITS


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
        f"systemctl kill --signal=KILL {BOOT} {IRQ} {REPAIR}",
        f"systemctl stop {BOOT} {IRQ} {REPAIR}",
        f"systemctl reset-failed {BOOT} {IRQ} {REPAIR} {TIMER}",
    ]


def test_a_boot_unit_that_takes_itself_away_is_not_ended(host: Host) -> None:
    """It runs the rollback of what the boot before has left half-way."""
    host.apply(PROFILE, "--persist")
    host.kernel.files["/proc/self/cgroup"] = f"0::/system.slice/{BOOT}\n"
    host.kernel.log.clear()
    host.apply(PROFILE, "--no-persist")
    told = [what for what, text in host.kernel.log if text == "<run>"]
    assert told[-3:-1] == [f"systemctl kill --signal=KILL {IRQ} {REPAIR}", f"systemctl stop {IRQ} {REPAIR}"]


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


def test_it_can_all_be_taken_back_before_a_reboot(host: Host) -> None:
    before = state(host)
    host.apply(PROFILE, "--persist")
    said = typed("rollback", "--yes")
    assert (said.code, said.err) == (0, "")
    assert state(host) == before


def test_a_hook_takes_the_place_of_the_timer_and_goes_with_the_rollback(make: Make) -> None:
    folder = "/etc/NetworkManager/dispatcher.d"
    unit = "[Service]\n[Install]\nWantedBy=multi-user.target\n"
    host = make(tree={f"{folder}/": "", "/usr/lib/systemd/system/NetworkManager.service": unit})
    before = state(host)
    assert "numatune-repair.timer" in " ".join(host.apply(PROFILE, "--persist", "--json").json["notes"])
    assert (f"{folder}/{HOOK}" in host.kernel.files, there(host)) == (False, FILES)
    Systemd().start_unit(host.kernel, "NetworkManager.service")
    assert "a hook of NetworkManager" in " ".join(host.apply(PROFILE, "--json").json["notes"])
    assert f"{folder}/{HOOK}" in host.kernel.files
    assert [path for path in FILES if "repair" in path and path in host.kernel.files] == []
    assert typed("rollback", "--all", "--yes").code == 0
    assert different(before, state(host)) <= {path for path in state(host) if "NetworkManager.service" in path}


def test_a_deleted_file_of_ours_is_drift(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.kernel.remove(UDEV_RULES)
    (row,) = [row for row in typed("drift", "--json").json["settings"] if row["counted"]]
    assert (row["id"], row["letters"]) == ("persist:udev", "DA")
    assert typed("reapply").code == 0
    assert there(host) == FILES


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
