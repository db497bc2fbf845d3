"""The core on four real nodes: what they are, and every knob applied, in force, proved and taken back."""

from __future__ import annotations

import json
import shlex

import pytest
import testinfra

from lab.machine import Machine
from lab.opinions import nodes_by_numactl, nodes_by_numatune, parts_by_lstopo, parts_by_numatune
from lab.reports import FRAMES, INTERRUPTS, PAGES, STATE, changed, failed, moved, rows, statuses, summary
from numatune.knobs import SECTIONS

pytestmark = pytest.mark.lab

NIC, LINK = "0000:41:00.0", "enp65s0"
# The shipped profile, and beside it one setting of each kind that it leaves out.
EVERYTHING = """\
name: everything
extends: llm-inference
expect:
  cpus: 4
  smt: off
  nodes: {cpu: 4, per_package: 2}
  memory: {balance: 20}
  devices:
    gpu: {match: {class: accelerator}, count: 2, node: known}
    nic: {match: {driver: vmxnet3}, count: 1, link_width: max, link_speed: ">= 2.5"}
    disk: {match: {class: nvme}, link_width: max}
vars: {inference_cpus: "2-3", inference_mems: "2", inference_memory_max: 256M}
sysctl:
  vm.watermark_scale_factor: 20
  vm.dirty_bytes: 268435456
  vm.min_free_kbytes: ">= 90000"
thp: {shmem_enabled: advise, khugepaged: {scan_sleep_millisecs: 20000}, sizes: {64kB: madvise}}
hugepages: {2M: {by_node: {1: 4, 3: 9}}}
irq: {default_affinity: 0-1}
weighted_interleave: {weights: {0: 3, 3: 1}}
tiering: {demotion: true, promote_rate_limit_MBps: 1000}
workqueues: {cpumask: 0-1}
ksm: {pages_to_scan: 200}
net_queues: {rules: [{match: {driver: vmxnet3}, rps: local, xps: local}]}
sched_debug: {numa_balancing: {scan_delay_ms: 500}}
modules: {dummy: loaded, nvme_core.io_timeout: 60}
shm: {/mnt/kv-cache: {policy: interleave, size: 64M}}
launch: {memory: preferred}
kernel_cmdline: {require: [mitigations=off, {value: nohz_full=2-3, optional: true}]}
"""
SCATTER = f"""
for number in $(ls /sys/bus/pci/devices/{NIC}/msi_irqs); do echo 0-3 > /proc/irq/$number/smp_affinity_list; done
"""
NEVER_WRITTEN = {"kernel_cmdline", "expect", "cpufreq"}  # facts; nothing that a guest has
TASK = "systemctl show --value --property=MainPID task"


def test_topology_is_what_numactl_and_lstopo_say(nps2: Machine) -> None:
    told = nps2.batch(
        {"ours": "numatune topology --json", "numactl": "numactl --hardware", "lstopo": "lstopo --of xml"}
    )
    assert failed(told) == {}
    ours = json.loads(told["ours"].out)
    nodes = nodes_by_numactl(told["numactl"].out)
    assert nodes_by_numatune(ours) == nodes
    assert len(nodes) == 4

    theirs = parts_by_lstopo(told["lstopo"].out)
    assert parts_by_numatune(ours, theirs.devices) == theirs
    assert (theirs.packages, len(theirs.caches)) == ({frozenset({0, 1}), frozenset({2, 3})}, 4)

    placed = [(row["kind"], row["node"]) for row in ours["devices"] if row["kind"] != "other"]
    assert sorted(placed, key=str) == [
        ("accelerator", 2),
        ("accelerator", 3),
        ("nic", 1),
        ("nic", None),  # on the root bus, whose devices have node -1
        ("nvme", 0),
    ]


def test_every_knob_is_applied_in_force_proved_and_taken_back(nps2: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """irqbalance is off until the end, so that only numatune moves interrupts; `services` finds it enabled."""
    nps2.ssh.put({"/root/everything.yaml": EVERYTHING})
    told = nps2.batch(
        {
            "alone": f"systemctl stop irqbalance; {SCATTER}",
            "huge before": f"{PAGES} huge",
            "looked at before": f"{PAGES} wander-until 30",
            "before": STATE,
            "apply": "numatune apply /root/everything.yaml --yes --allow-debugfs --json",
            "again": "numatune apply /root/everything.yaml --yes --allow-debugfs --json",
            "interrupts": INTERRUPTS,
            "frames": f"{FRAMES} {LINK} 20",
            "came": INTERRUPTS,
            "huge": f"{PAGES} huge",
            "looked at": f"{PAGES} wander 4",
            "pool": f"numactl --membind=3 {PAGES} pool 9",
            "more than the pool": f"numactl --membind=1 {PAGES} pool 5 2>&1",
            "weighted": f"numactl --weighted-interleave=0,3 {PAGES} take 16",
            "cache": f"dd status=none if=/dev/zero of=/mnt/kv-cache/blocks bs=1M count=16; {PAGES} file "
            "/mnt/kv-cache/blocks; rm /mnt/kv-cache/blocks",
            "start": f"systemd-run --quiet --unit=task --slice=inference.slice {PAGES} stay 16; sleep 2",
            "task": f"grep _allowed_list /proc/$({TASK})/status",
            "where": f"{PAGES} where $({TASK})",
            "verify": "numatune verify --json",
        }
    )
    assert failed(told, **{"more than the pool": 1}) == {}
    assert [summary(told[name])["differences"] for name in ("apply", "again", "verify")] == [0, 0, 0]
    found = rows(told["apply"])
    assert {found[name]["section"] for name in changed(told["apply"])} == set(SECTIONS) - NEVER_WRITTEN
    assert (changed(told["again"]), json.loads(told["again"].out)["run"]) == (set(), None)
    unmet = {name: status for name, status in statuses(told["verify"]).items() if status != "ok"}
    assert unmet == {
        "irq:rules/0/0000:00:08.0": "not-applicable",  # a NIC of no node
        "irq:rules/1": "not-applicable",  # no InfiniBand
        "irq:0000:21:00.0/2": "unchangeable",
        "irq:0000:21:00.0/3": "unchangeable",
        "irq:0000:21:00.0/4": "unchangeable",
        "cpufreq:governor": "not-applicable",  # in a guest
        "cpufreq:epp": "not-applicable",
        "kernel_cmdline:require/nohz_full=2-3": "reboot",
    }

    assert json.loads(told["huge before"].out) == {"asks": 8192, "does not": 8192}
    assert json.loads(told["huge"].out) == {"asks": 8192, "does not": 0}
    assert json.loads(told["looked at before"].out) > 0
    assert json.loads(told["looked at"].out) == 0
    assert json.loads(told["pool"].out) == {"3": 9}
    weighted = json.loads(told["weighted"].out)
    assert (weighted.keys(), abs(weighted["0"] - 3 * weighted["3"]) <= 3) == ({"0", "3"}, True)  # within one round
    assert json.loads(told["cache"].out) == dict.fromkeys("0123", 1024)
    assert "Cannot allocate memory" in told["more than the pool"].out
    assert told["task"].out.split() == ["Cpus_allowed_list:", "2-3", "Mems_allowed_list:", "2"]
    assert json.loads(told["where"].out).keys() == {"2"}
    before, after = json.loads(told["interrupts"].out), json.loads(told["came"].out)
    ours = [name for name in after if name.startswith(NIC)]
    assert {(after[name]["asked"], after[name]["effective"]) for name in ours} == {("1", "1")}
    came = [[now - then for now, then in zip(after[name]["came"], before[name]["came"], strict=True)] for name in ours]
    by_cpu = [sum(column) for column in zip(*came, strict=True)]
    assert by_cpu == [0, sum(by_cpu), 0, 0]
    assert sum(by_cpu) >= 80  # a question on each of four CPUs, twenty times

    monkeypatch.chdir(nps2.folder)  # where the shared connection's socket is
    check_by_testinfra(testinfra.get_host("ssh://root@127.0.0.1", ssh_extra_args=shlex.join(nps2.ssh.argv[1:-1])))

    told |= nps2.batch(
        {
            "rollback": "numatune rollback --all --yes --json",
            "stop": "systemctl stop task inference.slice",
            "after": STATE,
        }
    )
    assert failed(told, **{"more than the pool": 1}) == {}
    assert moved(told["before"], told["after"]) == []


def check_by_testinfra(host: testinfra.host.Host) -> None:
    """The same state once more from this side, asked for in other places than numatune asks."""
    assert host.sysctl("kernel.numa_balancing") == 0
    assert host.sysctl("vm.swappiness") == 1
    assert host.sysctl("vm.dirty_ratio") == 0  # the other side of vm.dirty_bytes
    assert not host.service("irqbalance").is_running
    assert not host.service("irqbalance").is_enabled
    huge = host.file("/sys/kernel/mm/transparent_hugepage")
    assert host.file(f"{huge.path}/enabled").content_string == "always [madvise] never\n"
    assert host.file(f"{huge.path}/hugepages-64kB/enabled").content_string == "always inherit [madvise] never\n"
    assert host.file("/proc/irq/default_smp_affinity").content_string == "3\n"
    pages = [host.file(f"/sys/devices/system/node/node{node}/meminfo").content_string for node in range(4)]
    assert [text.split("HugePages_Total:")[1].split()[0] for text in pages] == ["0", "4", "0", "9"]
    assert host.file("/sys/devices/virtual/workqueue/cpumask").content_string == "3\n"
    assert host.file(f"/sys/class/net/{LINK}/queues/rx-2/rps_cpus").content_string == "2\n"
    assert host.file("/sys/kernel/mm/numa/demotion_enabled").content_string == "true\n"
    assert {"size=65536k", "mpol=interleave:0-3"} <= set(host.mount_point("/mnt/kv-cache").options)
    assert host.file("/sys/module/dummy").is_directory
    group = "/sys/fs/cgroup/inference.slice"
    files = ("cpuset.cpus.effective", "cpuset.mems.effective", "memory.max")
    assert [host.file(f"{group}/{name}").content_string.strip() for name in files] == ["2-3", "2", str(256 << 20)]
