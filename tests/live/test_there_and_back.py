"""apply, the second apply, drift, verify and rollback by the real command on this machine, compared file by file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import snapshot
from fakes.machine import GROUP, Machine, make_group

pytestmark = pytest.mark.live

WIDE = (Path(__file__).parent / "wide.yaml").read_text(encoding="utf-8")
SWAPPINESS = Path("/proc/sys/vm/swappiness")
ONLINE = Path("/sys/devices/system/cpu/online").read_text(encoding="ascii").strip()


def status_of(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))


def test_llm_inference_as_shipped_comes_and_goes(machine: Machine):
    planned = machine.numatune("plan", "llm-inference", "--json")
    assert planned.code in {0, 2}
    done = machine.numatune("apply", "llm-inference", "--yes", "--json", "--why", "a test")
    assert done.code == 0, done
    changes = {row["id"] for row in planned.json["settings"] if row["action"] != "none"}
    assert {row["id"] for row in done.json["settings"] if row["changed"]} == changes
    assert (machine.moved() != {}) == bool(changes)

    again = machine.numatune("apply", "llm-inference", "--yes")
    assert (again.code, "0 changed" in again.out) == (0, True)
    assert machine.runs() == (["000001.jsonl"] if changes else [])
    assert machine.numatune("plan", "llm-inference").code == 0
    assert machine.numatune("verify", "llm-inference").code == 0
    drifted = machine.numatune("drift")
    assert (drifted.code, drifted.out, drifted.err) == (0, "", "")

    if changes:
        assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {}


@pytest.fixture
def group(machine: Machine, sleeper: int) -> Iterator[Path]:
    """A v1 cpuset with every CPU and a task of ours inside."""
    if not os.access(snapshot.GROUPS / "cpuset.cpus", os.W_OK) or "-" not in ONLINE:
        pytest.skip("no writable v1 cpuset tree here, or one CPU alone")
    mems = (snapshot.GROUPS / "cpuset.mems").read_text(encoding="ascii").strip()
    made = make_group(ONLINE, mems)
    (made / "cgroup.procs").write_text(str(sleeper), encoding="ascii")
    machine.before.update({path: text for path, text in snapshot.taken().items() if path.startswith(str(made))})
    yield made
    machine.put_back()


def test_every_kind_of_setting_comes_and_goes(machine: Machine, group: Path, sleeper: int):
    first = ONLINE.partition("-")[0]
    cpusets = f"cpusets:\n  {GROUP}: {{cpus: '{first}', mems: '0'}}\n  {GROUP}/decode: {{cpus: '{first}', mems: '0'}}\n"
    path = machine.profile(WIDE + cpusets)
    waits = machine.numatune("apply", path, "--yes")
    assert waits.code == 2
    assert f"({sleeper} sleep)" in waits.out
    assert status_of(sleeper, "Cpus_allowed_list") == ONLINE

    done = machine.numatune("apply", path, "--yes", "--json", "--allow-disruption")
    assert done.code == 0, [row for row in done.json["settings"] if row["status"] not in {"ok", "unchangeable"}]
    assert status_of(sleeper, "Cpus_allowed_list") == first
    assert (group / "decode/cpuset.effective_cpus").read_text(encoding="ascii").strip() == first
    statuses = {row["status"] for row in done.json["settings"]}
    assert statuses <= {"ok", "unchangeable", "pending", "not-applicable", "unsupported"}
    moved = machine.moved()
    for part in ("/proc/sys/vm/dirty_ratio", "/proc/irq/", "/sys/kernel/mm/transparent_hugepage/enabled", str(group)):
        assert any(path.startswith(part) for path in moved), part

    assert machine.runs() == ["000001.jsonl", "000002.jsonl"]
    again = machine.numatune("apply", path, "--yes", "--allow-disruption")
    assert (again.code, "0 changed" in again.out) == (0, True)
    assert machine.runs() == ["000001.jsonl", "000002.jsonl"]
    assert machine.moved() == moved
    drifted = machine.numatune("drift")
    assert (drifted.code, drifted.out, drifted.err) == (0, "", "")
    verified = machine.numatune("verify", "--json")
    assert verified.code == 0, [row for row in verified.json["settings"] if row["status"] == "drifted"]

    taken_back = machine.numatune("rollback", "--all", "--yes")
    assert taken_back.code == 0, taken_back.out
    assert machine.moved() == {}
    assert status_of(sleeper, "Cpus_allowed_list") == ONLINE
    assert machine.numatune("rollback", "--yes").code == 0, "nothing left to take back"


def test_what_a_third_party_changed_is_spared_and_named(machine: Machine):
    path = machine.profile(WIDE)
    assert machine.numatune("apply", path, "--yes").code == 0
    SWAPPINESS.write_text("33", encoding="ascii")
    drifted = machine.numatune("drift")
    assert drifted.code == 2
    assert [line.split()[:2] for line in drifted.out.splitlines()[:-1]] == [["MM", "sysctl:vm.swappiness"]]

    taken_back = machine.numatune("rollback", "--yes")
    assert taken_back.code == 2
    assert "vm.swappiness" in taken_back.out
    assert "33" in taken_back.out
    assert list(machine.moved()) == [str(SWAPPINESS)]
    assert SWAPPINESS.read_text(encoding="ascii") == "33\n"


def test_the_originals_are_those_before_the_first_of_two_applies(machine: Machine):
    path = machine.profile(WIDE)
    assert machine.numatune("apply", path, "--yes").code == 0
    assert machine.numatune("apply", path, "--yes", "--var", "swappiness=9").code == 0
    assert SWAPPINESS.read_text(encoding="ascii") == "9\n"
    assert machine.numatune("rollback", "--yes").code == 0
    assert SWAPPINESS.read_text(encoding="ascii") == "7\n"
    assert machine.numatune("rollback", "--yes").code == 0
    assert machine.moved() == {}


def test_everything_is_put_back_when_a_test_fails_halfway(machine: Machine, group: Path, sleeper: int):
    (group / "cpuset.cpus").write_text(ONLINE.partition("-")[0], encoding="ascii")
    (group / "inner").mkdir()
    made = [("vm/dirty_bytes", "536870912"), ("vm/swappiness", "3"), ("vm/nr_hugepages", "2")]
    for name, value in made:
        Path("/proc/sys", name).write_text(value, encoding="ascii")
    (snapshot.THP / "enabled").write_text("never", encoding="ascii")
    Path("/proc/irq/default_smp_affinity").write_text("1", encoding="ascii")
    assert len(machine.moved()) > len(made)
    machine.before = {path: text for path, text in machine.before.items() if GROUP not in path}
    machine.put_back()
    assert machine.moved() == {}
    assert status_of(sleeper, "Cpus_allowed_list") == ONLINE
