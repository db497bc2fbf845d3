"""What is exported does on a real host what numatune would, without it; and goes without a trace.

One machine, and tests that go on where the one before ended: a reboot is too dear to have one for each.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.machine import Machine
from lab.reports import STATE, moved, rows
from lab.ssh import Answer

pytestmark = [pytest.mark.lab, pytest.mark.matrix]

NIC = "0000:41:00.0"
PROFILE = f"""\
name: exported
sysctl: {{vm.swappiness: 10, vm.stat_interval: ">= 10", vm.dirty_background_bytes: 50000000}}
thp: {{enabled: madvise, defrag: never, khugepaged: {{scan_sleep_millisecs: 20000}}}}
hugepages: {{2M: {{by_node: {{0: 4, 2: 2}}}}}}
irq: {{rules: [{{match: {{class: nic, address: "{NIC}"}}, cpus: "2"}}]}}
net_queues: {{rules: [{{match: {{class: nic, address: "{NIC}"}}, rps: "1,3"}}]}}
cpusets:
  inference.slice: {{cpus: "1-2", mems: "1-2", memory_max: 300M}}
  inference-decode.slice: {{cpus: "2", mems: "2"}}
shm: {{/mnt/kv: {{policy: interleave, nodes: "0,2", size: 64M}}}}
weighted_interleave: {{weights: {{1: 3}}}}
ksm: {{sleep_millisecs: 50}}
workqueues: {{cpumask: "0-2"}}
modules: {{dummy: loaded}}
services: {{irqbalance: stopped}}
kernel_cmdline: {{forbid: [numa=off]}}
"""
STATE_OF_ALL = f"{STATE} memory groups files units"  # interrupts are irqbalance's, before and after
MASKS = f"cd /sys/bus/pci/devices/{NIC}/msi_irqs && for number in *; do cat /proc/irq/$number/smp_affinity_list; done"
SCRIPT = "/root/tune.sh"
INSTALLED = "/usr/local/sbin/numatune-exported"
PLAN = "numatune plan /root/exported.yaml --json"
KEEPS = "ls -d /run/numatune-exported /var/lib/numatune-exported /mnt/kv 2>/dev/null || true"


def export(target: str, *words: str) -> str:
    return f"numatune export /root/exported.yaml --format {target} {' '.join(words)}"


def fine(told: dict[str, Answer], *, but: tuple[str, ...] = ()) -> None:
    bad = {name: answer for name, answer in told.items() if answer.code and name not in but}
    assert not bad, bad


def lasting(state: Answer) -> Answer:
    """Without what every boot has anew: the groups of what happens to run, and a value of the free memory."""
    passing = ("/sys/fs/cgroup/", "/proc/sys/vm/user_reserve_kbytes ")
    return Answer(0, "\n".join(line for line in state.out.splitlines() if not line.startswith(passing)), "")


def unmet(plan: Answer) -> dict[str, str]:
    """Rows that are not as wanted."""
    return {sid: row["status"] for sid, row in rows(plan).items() if row["status"] not in ("ok", "pending")}


@pytest.fixture(scope="module")
def old(nps2: Machine) -> Answer:
    """What the host was before anything was applied."""
    nps2.ssh.put({"/root/exported.yaml": PROFILE})
    return nps2.run(STATE_OF_ALL)


def test_the_script_does_what_apply_does_and_gives_it_back(nps2: Machine, old: Answer) -> None:
    told = nps2.batch(
        {
            "export": export("script", "--output", SCRIPT),
            "wanted": PLAN,
            "plan": f"sh {SCRIPT} plan",
            "apply": f"sh {SCRIPT} apply",
        }
    )
    fine(told, but=("plan", "wanted"))
    told |= nps2.batch(
        {
            "again": f"sh {SCRIPT} apply",
            "after": PLAN,
            "rollback": f"sh {SCRIPT} rollback",
            "nothing": f"sh {SCRIPT} rollback",
            "kept": KEEPS,
            "state": STATE_OF_ALL,
        }
    )
    fine(told, but=("plan", "wanted"))
    assert (told["plan"].code, told["wanted"].code) == (2, 2)
    different = {sid for sid, row in rows(told["wanted"]).items() if row["action"] != "none"}
    assert {line.split()[1].rstrip(":") for line in told["plan"].out.splitlines()[:-1]} == different
    assert told["again"].out.splitlines() == ["changed: 0, differ: 0"]
    assert unmet(told["after"]) == {}
    assert told["nothing"].out == "nothing to take back\n"
    assert told["kept"].out == ""
    assert moved(old, told["state"]) == []


def test_it_refuses_another_host_and_leaves_what_somebody_has_set_since(nps2: Machine, old: Answer) -> None:
    told = nps2.batch(
        {
            "less": "echo 0 > /sys/devices/system/cpu/cpu3/online; sh /root/tune.sh apply",
            "whole": "echo 1 > /sys/devices/system/cpu/cpu3/online",
            "quiet": "systemctl stop irqbalance",
            "masks": MASKS,
            "apply": f"sh {SCRIPT} apply --only sysctl,irq",
            "placed": MASKS,
            "theirs": "echo 33 > /proc/sys/vm/swappiness",
            "rollback": f"sh {SCRIPT} rollback",
            "held": "cat /proc/sys/vm/swappiness /proc/sys/vm/stat_interval",
            "put back": "echo 60 > /proc/sys/vm/swappiness",
            "rest": f"sh {SCRIPT} rollback",
            "masks back": MASKS,
            "loud": "systemctl start irqbalance",
            "kept": KEEPS,
            "state": STATE_OF_ALL,
        }
    )
    fine(told, but=("less", "rollback"))
    assert set(told["placed"].out.split()) == {"2"}
    assert told["masks back"].out == told["masks"].out
    assert (told["less"].code, told["rollback"].code) == (1, 2)
    assert "this host has CPUs 0-2" in told["less"].err
    assert "sysctl:vm.swappiness: left as it is, 33: somebody set it since" in told["rollback"].out
    assert told["held"].out.split() == ["33", "1"]
    assert told["kept"].out == ""
    assert moved(old, told["state"]) == []


def test_running_work_is_not_disturbed_without_leave(nps2: Machine) -> None:
    told = nps2.batch(
        {
            "work": "systemd-run --quiet --unit=work --slice=inference.slice sleep 1000",
            "apply": f"sh {SCRIPT} apply --only cpusets",
            "free": "systemctl show --value --property=AllowedCPUs inference.slice",
            "allowed": f"sh {SCRIPT} apply --only cpusets --allow-disruption",
            "confined": "systemctl show --value --property=AllowedCPUs inference.slice",
            "rollback": f"sh {SCRIPT} rollback",
            "stop": "systemctl stop work inference.slice",
        }
    )
    fine(told, but=("apply",))
    assert told["apply"].code == 2
    assert "--allow-disruption does it all the same" in told["apply"].out
    assert (told["free"].out.strip(), told["confined"].out.strip()) == ("", "1-2")


@pytest.mark.usefixtures("old")
def test_plain_files_keep_over_a_reboot_what_they_say(nps2: Machine) -> None:
    said: dict[str, Any] = {}
    for target in ("sysctl.d", "tmpfiles.d"):
        answer = nps2.run(export(target, "--json"))
        said[target] = json.loads(answer.out)
        (file,) = said[target]["files"]
        nps2.ssh.put({file["path"]: file["text"]})
    nps2.reboot()
    plan = rows(nps2.run(PLAN, check=False))
    carried = [sid for each in said.values() for sid in each["carries"]]
    assert {sid: plan[sid]["status"] for sid in carried} == dict.fromkeys(carried, "ok")
    assert {"sysctl:vm.swappiness", "thp:enabled", "ksm:sleep_millisecs"} <= set(carried)
    nps2.run("rm /etc/sysctl.d/zz-numatune.conf /etc/tmpfiles.d/zz-numatune.conf")


def test_units_bring_all_of_it_over_a_reboot_and_go_without_a_trace(nps2: Machine, old: Answer) -> None:
    told = nps2.batch(
        {
            "export": export("systemd", "--output", "/root/tree"),
            "install": "cp -r /root/tree/. / && systemctl daemon-reload && "
            "systemctl enable numatune-boot.service numatune-repair.timer",
            "verify": "systemd-analyze verify /etc/systemd/system/numatune-*",
            "drop-in": "systemctl cat inference.slice | grep -c AllowedCPUs=1-2",
            "tmpfiles": "systemd-tmpfiles --dry-run --create --boot /etc/tmpfiles.d/zz-numatune.conf",
        }
    )
    fine(told)
    assert told["verify"].err == ""
    assert told["drop-in"].out == "1\n"
    nps2.reboot()
    shown = "systemctl show --value -p"
    told = nps2.batch(
        {
            "result": f"{shown} Result numatune-boot",
            "plan": PLAN,
            "drift": "numatune drift /root/exported.yaml",
            "failed": "systemctl --failed --no-legend",
            "rollback": f"sh {INSTALLED} rollback",
            "disable": "systemctl disable --quiet numatune-boot.service numatune-repair.timer && "
            "(cd /root/tree && find . -type f) | while read -r file; do rm /$file; done && "
            "rmdir /etc/systemd/system/*.slice.d && systemctl daemon-reload",
            "kept": KEEPS,
        }
    )
    fine(told)
    assert told["result"].out == "success\n"
    assert unmet(told["plan"]) == {}
    assert (told["drift"].out, told["failed"].out, told["kept"].out) == ("", "", "")
    nps2.reboot()
    assert moved(lasting(old), lasting(nps2.run(STATE_OF_ALL))) == []
