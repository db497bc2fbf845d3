"""`ps --fix`: rebinding.yaml says where workers belong; the rest binds processes of its own on this machine."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.process import can_mount, no_nobody
from launch.hosts import cpu_set, given, shaped
from launch.test_cases import policy_of
from launch.test_run import CPUS, ROOT, numatune

from numatune.cpus import CpuSet
from numatune.launch import opened, proof, rebinding
from numatune.launch.devices import Found
from numatune.launch.proof import Proof, Thread
from numatune.launch.worker import Rebind, Worker
from numatune.topology.resolve import canonical
from numatune.views import placement_rebound
from numatune.views.style import Style

CASES = yaml.safe_load(Path(__file__).with_name("rebinding.yaml").read_text())
HERE = Path(__file__).parent
WIDE = Style(width=160)

several = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU alone")


def worker(pid: int, row: dict[str, Any], found: Found) -> Worker:
    wanted = [text.partition("/")[::2] for text in row["opened"]]
    have = [(canonical(address), int(part or 0)) for address, part in wanted]
    return Worker(
        pid=pid,
        parent=1,
        started="7",
        opened=tuple(one for one in found.given if (one.address, one.part) in have),
        cpus=cpu_set(row["cpus"]) if "cpus" in row else None,
        mems=cpu_set(row["mems"]) if "mems" in row else None,
    )


@pytest.mark.parametrize("case", [pytest.param(case, id=case["tells"]) for case in CASES])
def test_where_workers_belong(case: dict[str, Any]):
    topology = shaped(case["host"])
    found = Found(given(topology, case["host"]))
    workers = [worker(pid, row, found) for pid, row in case["workers"].items()]
    everywhere = (topology.cpus.online, {node.id: 100 for node in topology.nodes})
    proofs = [
        Proof(pid=one.pid, name="x", user=0, wanted=None, threads=(Thread(one.pid, everywhere[0]),), kib=everywhere[1])
        for one in workers
    ]
    made = rebinding.wanted(topology, found, policy_of(case.get("policy", {})), workers, proofs)
    for one in made:
        assert {"pid": one.proof.pid, **told(one, case["are"][one.proof.pid])} == {
            "pid": one.proof.pid,
            **case["are"][one.proof.pid],
        }


def told(one: Rebind, wanted: dict[str, Any]) -> dict[str, Any]:
    warnings = [step.reason for step in one.steps if step.warns]
    known = {
        "cpus": str(one.cpus),
        "node": one.node,
        "nodes": str(one.nodes),
        "devices": list(one.devices),
        "outside": list(one.outside),
        "elsewhere": dict(one.elsewhere),
        "left": wanted.get("left") if wanted.get("left") and wanted["left"] in one.left else one.left,
        "warns": [text for text in wanted.get("warns", ()) if any(text in line for line in warnings)] or warnings,
    }
    return {key: known[key] for key in wanted}


@contextmanager
def child(code: str = "") -> Iterator[int]:
    """A process with three threads, that runs until it is let go."""
    body = f"""
import sys, threading
go = threading.Event()
for _ in range(2): threading.Thread(target=go.wait).start()
{code}
print('ready', flush=True)
sys.stdin.read()
go.set()
"""
    command = [sys.executable, "-I", "-c", body]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.stdin.close()


def to_bind(pid: int, cpus: CpuSet) -> Rebind:
    (found,) = proof.processes([pid])
    return Rebind(proof=found, started=opened.started(pid), devices=("0000:11:00.0",), cpus=cpus)


@several
def test_all_threads_are_bound_but_those_that_are_inside_already():
    one, other = CPUS[:2]
    narrow = f"import os; os.sched_setaffinity(0, [{one}])"
    with child(f"import os; os.sched_setaffinity(0, [{other}])") as pid:
        done = rebinding.rebind(to_bind(pid, CpuSet([one])))
        assert len(done.bound or ()) == 3
        assert done.refused == {}
        assert {str(opened.allowed(pid, thread)) for thread in opened.threads(pid)} == {str(one)}
        assert rebinding.rebind(to_bind(pid, CpuSet([one]))).bound == ()
    with child(narrow) as pid:
        done = rebinding.rebind(to_bind(pid, CpuSet(CPUS[:2])))
        assert pid not in (done.bound or ())
        assert opened.allowed(pid, pid) == CpuSet([one])


@several
def test_a_process_that_has_ended_or_is_another_one_is_no_error():
    with child() as pid:
        planned = to_bind(pid, CpuSet(CPUS[:1]))
        other = dataclasses.replace(planned, started="1")
        assert rebinding.rebind(other).bound == ()
        assert opened.allowed(pid, pid) == CpuSet(CPUS)
    done = rebinding.rebind(planned)
    assert (done.bound, done.refused) == ((), {})


@several
def test_a_thread_that_vanishes_on_the_way_is_no_error(monkeypatch: pytest.MonkeyPatch):
    """It is there when it is read, and gone when it is bound."""
    go = threading.Event()
    gone: list[int] = []

    def read(pid: int, thread: int) -> CpuSet | None:
        if not gone and thread != pid:
            gone.append(thread)
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        return CpuSet(CPUS)

    with subprocess.Popen(
        [sys.executable, "-c", "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()"]
    ) as process:
        while len(opened.threads(process.pid)) < 2:
            go.wait(0.01)
        planned = to_bind(process.pid, CpuSet(CPUS[:1]))
        monkeypatch.setattr(opened, "allowed", read)
        done = rebinding.rebind(planned)
        process.returncode = -9
    assert gone
    assert done.refused == {}


def test_cpus_that_its_cpuset_does_not_allow_are_refused_and_told():
    with child() as pid:
        absent = CpuSet([CPUS[-1] + 1000])
        done = rebinding.rebind(to_bind(pid, absent))
        assert (done.bound, set(done.refused)) == ((), set(opened.threads(pid)))
        assert all("EINVAL" in reason for reason in done.refused.values())


@pytest.mark.skipif(bool(no_nobody()), reason=no_nobody())
def test_other_peoples_threads_are_refused_and_told():
    code = f"""
import os
os.setuid(65534)
from launch.test_rebinding import to_bind
from numatune.cpus import CpuSet
from numatune.launch import rebinding
done = rebinding.rebind(to_bind({os.getpid()}, CpuSet([{CPUS[-1]}])))
print(sorted(set(done.refused.values())), done.bound)
"""
    if len(CPUS) < 2:
        pytest.skip("one CPU alone")
    env = {"PYTHONPATH": f"{ROOT}:{ROOT}/tests"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert ran.stdout == """["EPERM: another user's: needs root"] ()\n"""


@pytest.mark.parametrize(
    ("told", "files", "cpus"),
    [
        ("0::/a/b\n", {"a/b/cpuset.cpus.effective": "0-3\n"}, "0-3"),
        ("0::/a/b\n", {"a/cpuset.cpus.effective": "2\n", "cpuset.cpus.effective": "0-7"}, "2"),
        ("0::/\n", {"cpuset.cpus.effective": "0-7\n"}, "0-7"),
        ("0::/\n", {}, None),
        ("0::/../x\n", {"cpuset.cpus.effective": "0-7\n"}, None),
        ("4:cpuset:/pod\n0::/unused\n", {"cpuset/pod/cpuset.effective_cpus": "5\n"}, "5"),
        ("4:cpu,cpuset:/pod\n", {"cpuset/cpuset.effective_cpus": "0-1\n"}, "0-1"),
        ("3:memory:/x\n", {"cpuset.cpus.effective": "0-7\n"}, None),
        ("", {}, None),
    ],
)
def test_the_cpuset_of_a_process(told: str, files: dict[str, str], cpus: str | None, tmp_path: Path):
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = opened._cpuset(told, str(tmp_path))  # noqa: SLF001  # the rest needs a process in that group
    assert (None if found is None else str(found)) == cpus


def test_what_is_said_of_it():
    found = Proof(
        pid=7, name="worker", user=0, wanted=None, threads=(Thread(7, CpuSet(range(8))),), kib={0: 2048, 1: 1}
    )
    planned = Rebind(proof=found, devices=("0000:11:00.0",), node=1, cpus=CpuSet([4, 5]), nodes=CpuSet([1]))
    text = placement_rebound.table([planned], WIDE)
    assert "1 thread to bind" in text
    assert "2M at node 0 was placed before and stays" in text
    assert "migratepages 7 0 1 moves" in text
    assert placement_rebound.data([planned])["processes"][0]["bound"] is None
    done = dataclasses.replace(planned, bound=(7,))
    assert "1 thread bound" in placement_rebound.table([done], WIDE)
    done = dataclasses.replace(planned, bound=(), refused={7: "EPERM: why"})
    assert "thread 7 refused: EPERM: why" in placement_rebound.table([done], WIDE)
    assert "as wanted" in placement_rebound.table([dataclasses.replace(planned, cpus=CpuSet(range(8)))], WIDE)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--fix"], "--yes: is needed where nobody can be asked"),
        (["--yes"], "--yes: goes with --fix"),
        (["--check"], "--check: goes with --fix"),
        (["--profile", "x"], "--profile: goes with --fix"),
    ],
)
def test_wrong_options(argv: list[str], message: str):
    ran = numatune("ps", *argv)
    assert (ran.returncode, ran.stdout) == (64, "")
    assert message in ran.stderr


def test_a_captured_host_has_nothing_to_bind(tmp_path: Path):
    (tmp_path / "sys").mkdir()
    (tmp_path / "proc").mkdir()
    ran = numatune("--root", str(tmp_path), "ps", "--fix", "--check")
    assert ran.returncode == 64
    assert "is another host" in ran.stderr
    ran = numatune("--root", str(tmp_path), "--root-is-live", "ps", "--fix", "--check")
    assert "is another host" in ran.stderr


@pytest.mark.live
@several
def test_workers_of_stand_in_devices_are_bound(tmp_path: Path):
    """In a mount namespace with devices of the test's own: see rebinding_inside.py."""
    if not can_mount() or not Path("/sys/bus/pci/devices").is_dir():
        pytest.skip("needs root, unshare and the right to mount over the PCI devices")
    command = ["/usr/bin/unshare", "--mount", "--propagation", "private"]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/tests", "NUMATUNE_STATE_DIR": "/nonexistent"}
    inside = [sys.executable, str(HERE / "rebinding_inside.py"), str(tmp_path)]
    ran = subprocess.run([*command, *inside], capture_output=True, text=True, check=False, env=env)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert len(json.loads(ran.stdout)) == 2
