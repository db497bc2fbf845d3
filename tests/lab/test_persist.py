"""A set survives a reboot of a real systemd, udev and kernel, keeps itself so, and goes without a trace.

One machine, and tests that go on where the one before ended: a reboot is too dear to have one for each.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

import pytest

from lab import powers
from lab.machine import Machine
from lab.scripts import until
from lab.ssh import Answer

pytestmark = pytest.mark.lab

NIC = "0000:21:00.0"
PROFILE = f"""\
name: placed
sysctl: {{vm.swappiness: 10, vm.stat_interval: ">= 10"}}
thp: {{enabled: madvise, defrag: never}}
hugepages: {{2M: {{by_node: {{0: 4}}}}}}
irq: {{rules: [{{match: {{class: nic, address: "{NIC}"}}, cpus: "1"}}]}}
cpusets: {{inference.slice: {{cpus: "1"}}}}
services: {{irqbalance: stopped}}
"""
STATE = "python3 /opt/numatune/guest/state.py memory groups files others"
APPLY = "numatune apply /root/placed.yaml --yes --json"
VECTORS = f"for number in $(ls /sys/bus/pci/devices/{NIC}/msi_irqs)"
MASKS = f"{VECTORS}; do cat /proc/irq/$number/smp_affinity_list 2>/dev/null; done | sort -u"
SPREAD = f"{VECTORS}; do echo 0-1 > /proc/irq/$number/smp_affinity_list; done"
OURS = """
ls -d /etc/sysctl.d/zz-* /etc/tmpfiles.d/zz-* /etc/udev/rules.d/99-zz-* /etc/systemd/system/numatune-* \
/etc/systemd/system/*.wants/numatune-* /etc/networkd-dispatcher/*/90-numatune 2>/dev/null || true
"""
TIMED = "/run/systemd/system/numatune-repair.timer.d/timed.conf"
ELAPSES = "[Timer]\nOnBootSec=\nOnUnitInactiveSec=\nAccuracySec=1s\nOnActiveSec="
ANEW = "systemctl daemon-reload && systemctl restart numatune-repair.timer"
DRIVER = f"/sys/bus/pci/devices/{NIC}/driver"
PLACED = until(f'[ "$({MASKS})" = 1 ]')


@pytest.fixture(scope="module")
def old(single: Machine) -> str:
    """What the host was before anything was applied. No service calls hooks."""
    single.ssh.put({"/root/placed.yaml": PROFILE})
    return single.run(f"systemctl --quiet disable --now networkd-dispatcher; {STATE}").out


def fine(told: dict[str, Answer]) -> None:
    assert {name: (answer.code, answer.err) for name, answer in told.items()} == dict.fromkeys(told, (0, ""))


def lasting(state: str) -> list[str]:
    """Without what every boot has anew: the groups of services that happen to run, and a value of the free memory."""
    passing = re.compile(r"/sys/fs/cgroup/\S*\.(service|scope|socket|mount)/|/proc/sys/vm/user_reserve_kbytes ")
    return [line for line in state.splitlines() if not passing.match(line)]


def moved(before: str, after: str) -> list[str]:
    """The values that differ, as they were (-) and as they are (+)."""
    lines = difflib.unified_diff(lasting(before), lasting(after), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def rows(report: str) -> dict[str, Any]:
    return {row["id"]: row for row in json.loads(report)["settings"]}


def test_what_is_written_is_what_its_readers_take(single: Machine, old: str) -> None:
    assert "numatune" not in old
    told = single.batch(
        {
            "apply": f"{APPLY} --persist",
            "units": "systemd-analyze verify /etc/systemd/system/numatune-*",
            "rules": "udevadm verify /etc/udev/rules.d/99-zz-numatune.rules",
            "tmpfiles": "systemd-tmpfiles --create --boot /etc/tmpfiles.d/zz-numatune.conf",
            "sysctl": "/usr/lib/systemd/systemd-sysctl --cat-config | grep -v '^#' | grep . | tail -n 1",
            "again": APPLY,
            "timer": "systemctl is-active numatune-repair.timer",
            "verify": "numatune verify --json",
            "fresh": "systemctl show -p NeedDaemonReload numatune-irq.service numatune-repair.timer",
        }
    )
    fine(told)
    assert json.loads(told["again"].out)["run"] is None
    assert json.loads(told["verify"].out)["summary"]["differences"] == 0
    assert told["sysctl"].out == "-vm.swappiness = 10\n"
    assert set(told["fresh"].out.split()) == {"NeedDaemonReload=no"}
    (note,) = json.loads(told["apply"].out)["notes"]
    assert "numatune-repair.timer" in note


def test_after_a_reboot_the_host_is_as_applied_before_anyone_logs_in(single: Machine) -> None:
    single.reboot()
    stamp = "systemctl show --value -p"
    told = single.batch(
        {
            "placed": PLACED,  # those of a link that comes up late
            "drift": "numatune drift",
            "masks": MASKS,
            "boot": "journalctl --boot --no-pager --unit numatune-boot --output cat",
            "result": f"{stamp} Result numatune-boot",
            "done": f"{stamp} ExecMainExitTimestampMonotonic numatune-boot",
            "logins": f"{stamp} InactiveExitTimestampMonotonic systemd-user-sessions",
            "failed": "systemctl --failed --no-legend",
            "values": "cat /proc/sys/vm/swappiness /proc/sys/vm/stat_interval "
            "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
            "slice": f"{stamp} AllowedCPUs inference.slice",
        }
    )
    fine(told)
    assert (told["drift"].out, told["masks"].out, told["result"].out) == ("", "1\n", "success\n")
    assert 0 < int(told["done"].out) <= int(told["logins"].out)
    assert "anew" not in told["boot"].out, "the devices were all there"
    assert "put back" in told["boot"].out
    assert told["values"].out.split() == ["10", "10", "4"]
    assert told["slice"].out == "1\n"
    assert told["failed"].out == ""


def test_interrupts_come_back_when_a_driver_does_and_when_a_link_has_another_name(single: Machine) -> None:
    """A name is no reset, but the tools that set interrupts by name run then."""
    link = f"$(ls /sys/bus/pci/devices/{NIC}/net)"
    rebind = f"driver=$(realpath {DRIVER}); echo {NIC} > $driver/unbind; sleep 1; echo {NIC} > $driver/bind"
    several = "; ".join([f"echo {NIC} > $driver/unbind; echo {NIC} > $driver/bind"] * 3)
    single.ssh.put({TIMED: f"{ELAPSES}1h\n"})  # it would put them back too
    told = single.batch(
        {
            "alone": f"{ANEW} && systemctl stop numatune-repair.service 2>/dev/null",
            "rebind": rebind,
            "reset": until(f'[ "$({MASKS})" = 0-1 ]'),
            "placed": PLACED,
            "several": f"driver=$(realpath {DRIVER}); {several}",
            "placed again": PLACED,
            "renamed": f"link={link}; echo $link > /run/link; ip link set $link down; {SPREAD}; "
            "ip link set $link name renamed0",
            "placed once more": PLACED,
            "its own name": "link=$(cat /run/link); ip link set renamed0 name $link; ip link set $link up",
        }
    )
    fine(told)


@pytest.mark.matrix
def test_interrupts_come_back_when_the_device_does(single: Machine) -> None:
    device = single.shape.device("vmxnet3")
    powers.unplug(single, device)
    powers.plug(single, device)
    fine(single.batch({"placed": PLACED, "drift": "numatune drift"}))


@pytest.mark.matrix
def test_a_start_that_is_asked_for_while_it_works_is_not_lost(single: Machine) -> None:
    """What comes while it waits joins it; what comes while it works has a round of its own."""
    show = "systemctl show --value -p ActiveState numatune-irq"
    rounds = "journalctl --boot --no-pager --unit numatune-irq --output cat | grep -c ^Started"
    told = single.batch(
        {
            "idle": until(f'[ "$({show})" = inactive ]'),
            "before": rounds,
            "first": "systemctl start numatune-irq && systemctl start numatune-irq",
            "joined": rounds,
            "works": until(f'[ "$({show})" = deactivating ]'),
            "late": "systemctl start --no-block numatune-irq; systemctl list-jobs --no-legend | grep -c numatune-irq",
            "done": until(f'[ "$({show})" = inactive ] && [ -z "$(systemctl list-jobs --no-legend)" ]'),
            "after": rounds,
        }
    )
    fine(told)
    before, joined, after = (int(told[name].out) for name in ("before", "joined", "after"))
    assert (joined, after) == (before + 1, before + 2)
    assert told["late"].out == "1\n"


def test_what_an_upgrade_or_a_link_puts_back_is_found_by_the_timer(single: Machine) -> None:
    """Ten minutes are shortened to seconds; the timer and its service are the ones that were written."""
    single.ssh.put({TIMED: f"{ELAPSES}1s\n"})
    told = single.batch(
        {
            "upgrade": f"sysctl --quiet --write vm.swappiness=60; {SPREAD}",
            "soon": ANEW,
            "repaired": until("[ $(cat /proc/sys/vm/swappiness) = 10 ]"),
            "placed": PLACED,
            "done": until('[ "$(systemctl show --value -p ActiveState numatune-repair.service)" = inactive ]'),
            "log": "journalctl --boot --no-pager --identifier numatune --output cat | grep 'put back sysctl'",
            "usual": f"rm -r {TIMED.rpartition('/')[0]} && systemctl daemon-reload",
        }
    )
    fine(told)
    assert "put back sysctl:vm.swappiness: 60 -> 10" in told["log"].out


@pytest.mark.matrix
def test_where_a_service_calls_hooks_a_link_that_comes_up_puts_interrupts_back(single: Machine) -> None:
    link = f"$(ls /sys/bus/pci/devices/{NIC}/net)"
    # It is a slow starter under emulation, and has 90 seconds; and it starts only where it has something to call.
    single.ssh.put(
        {
            "/run/systemd/system/networkd-dispatcher.service.d/slow.conf": "[Service]\nTimeoutStartSec=280\n",
            "/etc/networkd-dispatcher/off.d/own": "#!/bin/sh\n",
        }
    )
    start = "systemctl start networkd-dispatcher && systemctl is-active networkd-dispatcher"
    single.run(f"systemctl daemon-reload && {start}")
    told = single.batch(
        {
            "apply": f"{APPLY} --persist",
            "timer": "! systemctl --quiet is-enabled numatune-repair.timer",
            "scattered": SPREAD,
            "flap": f"ip link set {link} down && sleep 1 && ip link set {link} up",
            "placed": PLACED,
            "drift": "numatune drift",
        }
    )
    fine(told)
    changed = {sid for sid, row in rows(told["apply"].out).items() if row["changed"]}
    assert "persist:networkd-dispatcher/routable.d" in changed
    (note,) = json.loads(told["apply"].out)["notes"]
    assert "a hook of networkd-dispatcher" in note


def test_all_of_it_goes_and_after_another_reboot_the_host_is_the_old_one(single: Machine, old: str) -> None:
    told = single.batch(
        {
            "asked for": "systemctl start numatune-irq",  # it would look while, or after, its set goes
            "rollback": "numatune rollback --all --yes --json --wait 60",
            "stopped": "systemctl stop networkd-dispatcher inference.slice && "
            "rm -rf /run/systemd/system/networkd-dispatcher.service.d /etc/networkd-dispatcher/off.d/own && "
            "systemctl daemon-reload",
            "ours": OURS,
            "units": "systemctl list-units --no-legend 'numatune*'",
            "state": STATE,
        }
    )
    fine(told)
    assert told["ours"].out == told["units"].out == ""
    assert moved(old, told["state"].out) == []
    single.reboot()
    told = single.batch({"state": STATE, "ours": OURS, "log": "journalctl --boot --no-pager --identifier numatune"})
    assert moved(old, told["state"].out) == []
    assert told["ours"].out == ""
    assert "numatune" not in told["log"].out


@pytest.mark.matrix
def test_no_persist_takes_the_files_away_and_leaves_the_values(single: Machine) -> None:
    told = single.batch(
        {
            "apply": f"{APPLY} --persist",
            "there": OURS,
            "no": f"{APPLY} --no-persist",
            "ours": OURS,
            "swappiness": "cat /proc/sys/vm/swappiness",
            "drift": "numatune drift",
            "rollback": "numatune rollback --all --yes --json",
            "gone": OURS,
        }
    )
    fine(told)
    assert len(told["there"].out.split()) >= 8
    assert (told["ours"].out, told["gone"].out, told["drift"].out) == ("", "", "")
    assert told["swappiness"].out == "10\n"
