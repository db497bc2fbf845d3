"""Control groups through systemd, and the work that runs in them: its CPUs, its pages, its limit, its freedom after."""

from __future__ import annotations

import json

import pytest

from lab.machine import Machine
from lab.reports import PAGES, STATE, failed, moved, rows, statuses, summary
from lab.ssh import Answer

pytestmark = pytest.mark.lab

GROUPS = """\
name: groups
cpusets:
  inference.slice: {cpus: "2-3", mems: "2-3", memory_max: 300M}
  inference-decode.slice: {cpus: "3", mems: "3"}
  rt.slice: {cpus: "1", partition: root}
"""
PAGES_OF_16_MIB = 4096


def start(unit: str, where: str, command: str) -> str:
    return f"systemd-run --quiet --unit={unit} --slice={where} {command}; sleep 2"


def pid(unit: str) -> str:
    return f"$(systemctl show --value --property=MainPID {unit})"


def allowed(unit: str) -> str:
    return f"grep -h _allowed_list /proc/{pid(unit)}/status | cut -f2"


def groups(*files: str) -> str:
    return "cat " + " ".join(f"/sys/fs/cgroup/{file}" for file in files)


def by_node(told: Answer) -> dict[str, int]:
    found: dict[str, int] = json.loads(told.out)
    return found


def test_groups_of_units_hold_running_and_new_work_and_let_it_go(nps2: Machine) -> None:
    nps2.ssh.put({"/root/groups.yaml": GROUPS})
    told = nps2.batch(
        {
            "work": start("work", "inference.slice", f"{PAGES} stay 16 0"),  # touched on CPU 0
            "alone": start("alone", "rt.slice", "sleep 1000"),
            "before": f"{STATE} groups files",
            "waits": "numatune apply /root/groups.yaml --yes --json",
            "untouched": f"{allowed('work')}; {allowed('alone')}",
            "pages before": f"{PAGES} where {pid('work')}",
            "apply": "numatune apply /root/groups.yaml --yes --allow-disruption --json",
            "confined": allowed("work"),
            "pages": f"{PAGES} where {pid('work')}",
            "decode": start("decode", "inference-decode.slice", f"{PAGES} stay 16"),
            "decoding": allowed("decode"),
            "its pages": f"{PAGES} where {pid('decode')}",
            "reload": "systemctl daemon-reload",
            "files": groups(
                "inference.slice/cpuset.cpus.effective",
                "inference.slice/cpuset.mems.effective",
                "inference.slice/memory.max",
                "inference.slice/inference-decode.slice/cpuset.cpus.effective",
                "rt.slice/cpuset.cpus.partition",
                "cpuset.cpus.effective",  # a partition takes its CPUs from the rest of the system
            ),
            "said": "systemctl show --value --property=EffectiveCPUs,EffectiveMemoryNodes inference.slice",
            "verify": "numatune verify --json",
            "drift": "numatune drift --json",
            "rollback": "numatune rollback --all --yes --json",
            "free": f"{allowed('work')}; {allowed('decode')}; {allowed('alone')}",
            "end decoding": "systemctl stop decode inference-decode.slice",
            "after": f"{STATE} groups files",
        }
    )
    assert failed(told, waits=2) == {}
    waiting = {name: row["reason"] for name, row in rows(told["waits"]).items() if row["status"] == "drifted"}
    assert {"cpuset:inference.slice/cpus", "cpuset:inference.slice/mems", "cpuset:rt.slice/cpus"} <= waiting.keys()
    assert told["untouched"].out.split() == ["0-3", "0-3"] * 2
    before = by_node(told["pages before"])
    assert before["0"] >= PAGES_OF_16_MIB

    assert set(statuses(told["apply"]).values()) <= {"ok", "pending"}
    assert [summary(told[name])["differences"] for name in ("apply", "verify", "drift")] == [0, 0, 0]
    assert told["confined"].out.split() == ["2-3", "2-3"]
    pages = by_node(told["pages"])
    assert pages.keys() <= {"2", "3"}
    assert sum(pages.values()) >= PAGES_OF_16_MIB
    assert told["decoding"].out.split() == ["3", "3"]
    assert by_node(told["its pages"]).keys() == {"3"}
    assert told["files"].out.splitlines() == ["2-3", "2-3", str(300 << 20), "3", "root", "0,2-3"]
    assert told["said"].out.split() == ["2-3", "2-3"]
    assert told["free"].out.split() == ["0-3", "0-3"] * 3
    assert moved(told["before"], told["after"]) == []
