"""The table that apply works out: where it has an answer, it is that of the long way."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launch.test_run import NODE, ROOT
from launch.test_shares import hosts

from numatune import mempolicy
from numatune.cpus import CpuSet
from numatune.discover.cpus import online_cpus
from numatune.host.local import LocalHost
from numatune.launch import carried, compiled, quick, wording
from numatune.launch import host as launch_host
from numatune.launch.devices import Found
from numatune.launch.model import Process
from numatune.launch.placement import place
from numatune.launch.policy import Policy
from numatune.launch.ranks import local_rank
from numatune.launch.visible import Accelerator, visible
from numatune.topology.model import Topology

policies = st.builds(
    Policy,
    cpu=st.sampled_from(["node", "exclusive", "socket", "none"]),
    smt=st.sampled_from(["keep", "drop"]),
    reserve_cores=st.integers(0, 2),
    memory=st.sampled_from(["preferred", "local", "interleave", "none"]),
    env=st.sampled_from([{}, {"OMP_NUM_THREADS": "cores", "SET": "x y"}]),
)


def by_table(
    table: list[str], names: dict[str, str], cpus: CpuSet, mems: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], list[str]] | None:
    monkeypatch.setattr(quick, "_given", lambda _: True)
    monkeypatch.setattr(quick, "_mems", lambda: mems)
    return quick._entry(table, names, cpus.bits)  # noqa: SLF001  # without binding this process


@given(st.data())
def test_the_table_says_what_the_long_way_says(data: st.DataObject):
    topology: Topology = data.draw(hosts())
    policy: Policy = data.draw(policies)
    half = CpuSet(list(topology.cpus.online)[: max(1, len(topology.cpus.online) // 2)])
    mems = CpuSet(node.id for node in topology.nodes if node.kind in {"cpu+mem", "memory-only"})
    table = compiled.lines(topology, policy, [(half, mems)])
    accelerators = tuple(Accelerator(address=one.address, vendor="10de") for one in topology.devices)
    count = len(accelerators)
    names: dict[str, str] = {}
    if data.draw(st.booleans()):
        names["LOCAL_RANK"] = str(data.draw(st.integers(0, max(0, count))))
    if data.draw(st.booleans()):
        some = data.draw(st.lists(st.integers(0, count), max_size=count + 1))
        names["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, some))
    names |= data.draw(st.sampled_from([{}, {"SET": "mine"}]))
    allowed = data.draw(st.sampled_from([topology.cpus.online, half]))
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = by_table(table, names, allowed, str(mems), monkeypatch)
    if found is None:
        return
    (_, cpus, mode, nodes, told), variables = found
    process = Process(
        rank=local_rank(names),
        cpus=allowed,
        mems=mems,
        seen=visible(names, accelerators).devices,
        accelerators=accelerators,
        kin=Found(accelerators).kin,
        caller=frozenset(names),
    )
    made = place(topology, process, policy)
    assert cpus == (f"{made.cpus.bits:x}" if made.bound else "-")
    assert (mode, nodes) == (made.memory.mode, f"{made.memory.nodes.bits:x}")
    assert carried.read(told) == carried.read(carried.travelling(dataclasses.replace(made, rank=None), made.memory))
    assert {one.partition("=")[0] for one in variables} - names.keys() == made.env.keys()
    assert not [step for step in made.steps if step.warns]


def dgx(table_of: Policy) -> list[str]:
    from launch.hosts import shaped  # noqa: PLC0415  # one case

    shape = {
        "nodes": {0: "0-55,112-167", 1: "56-111,168-223"},
        "siblings": 112,
        "devices": {
            f"{bus}:00.0": place_ // 4 for place_, bus in enumerate(["1b", "43", "52", "61", "9d", "c3", "d1", "df"])
        },
    }
    return compiled.lines(shaped(shape), table_of, [])


@pytest.mark.parametrize(
    ("names", "cpus"),
    [
        ({}, "0-223"),
        ({"LOCAL_RANK": "1"}, "14-27,126-139"),
        ({"LOCAL_RANK": "1", "CUDA_VISIBLE_DEVICES": "3,0"}, "0-13,112-125"),
        ({"LOCAL_RANK": "1", "CUDA_VISIBLE_DEVICES": "3,00"}, "0-13,112-125"),
        ({"LOCAL_RANK": "8"}, None),
        ({"LOCAL_RANK": "one"}, None),
        ({"CUDA_VISIBLE_DEVICES": "1,2"}, None),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "1"}, None),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "1,1"}, None),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "1,8"}, None),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "GPU-aa"}, None),
    ],
)
def test_what_is_plain(names: dict[str, str], cpus: str | None, monkeypatch: pytest.MonkeyPatch):
    found = by_table(dgx(Policy(cpu="exclusive")), names, CpuSet(range(224)), "0-1", monkeypatch)
    assert (None if found is None else str(CpuSet.from_bits(int(found[0][1], 16)))) == cpus


def test_what_is_not_worked_out_before():
    assert dgx(Policy())
    for policy in (Policy(memory="bind"), Policy(cgroup="a"), Policy(widen=True), Policy(thp="never")):
        assert dgx(policy) == []


def test_a_policys_table_is_no_part_of_the_policy():
    policy = Policy(cpu="exclusive")
    assert wording.parse(wording.text(policy, dgx(policy)), "here") == policy


# --- on this machine --------------------------------------------------------------------------------------------------


@pytest.fixture
def applied() -> Iterator[Path]:
    """The file of apply, for this host, taken away again."""
    file = Path(quick.FILE)
    if os.geteuid() != 0 or os.path.lexists(file):
        pytest.skip(f"needs root, and no {file}")
    made = not file.parent.exists()
    file.parent.mkdir(exist_ok=True)
    try:
        reader = LocalHost()
        topology = launch_host.look(reader)
        assert topology.cpus.online == online_cpus(reader)
        policy = Policy(env={"WORKERS": "cpus"})
        file.write_text(wording.text(policy, compiled.lines(topology, policy, [])))
        file.chmod(0o644)
        yield file
    finally:
        file.unlink(missing_ok=True)
        if made:
            shutil.rmtree(file.parent)


def start(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "numatune", "run", *argv]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env)


def imported(ran: subprocess.CompletedProcess[str]) -> set[str]:
    return {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.live
@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel has no NUMA")
def test_a_plain_start_imports_next_to_nothing_and_is_the_same(applied: Path):
    code = f"import sys, os; sys.path.insert(0, {str(ROOT)!r}); from numatune import mempolicy as m"
    code += (
        "; print(m.of_task(), sorted(os.sched_getaffinity(0)), os.environ['NUMATUNE_PLACEMENT'], os.environ['WORKERS'])"
    )
    quickly = start("--", sys.executable, "-I", "-c", code)
    at_length = start("--verbose", "--", sys.executable, "-I", "-c", code)
    assert quickly.stdout == at_length.stdout
    assert f"preferred:{NODE}" in quickly.stdout
    names = imported(quickly)
    assert not names & {"dataclasses", "inspect", "typing", "json", "argparse", "numatune.cpus"}
    assert "numatune.launch.quick" in names
    assert "numatune.launch.placement" in imported(at_length)
    assert start("--", "printenv", "WORKERS", WORKERS="7").stdout == "7\n"
    applied.chmod(0o666)
    assert "numatune.launch.applying" in imported(start("--", "true"))


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel has no NUMA")
def test_a_refusal_of_the_kernel_leaves_everything_as_it_was():
    code = f"""
import os, sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
from launch import seccomp
from numatune.launch import quick
before = os.sched_getaffinity(0)
seccomp.deny("set_mempolicy")
print(quick._bound("1", "preferred", [{NODE}], before), os.sched_getaffinity(0) == before)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False True\n"
    assert mempolicy.of_task().mode == "default"


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel has no NUMA")
@pytest.mark.parametrize(
    "refuse", ["", "def refuse(*_): raise PermissionError(1, 'refused')\nos.sched_setaffinity = refuse"]
)
def test_cpus_that_are_refused_leave_the_memory_policy_as_it_was(refuse: str):
    code = f"""
import os, sys
sys.path[:0] = [{str(ROOT)!r}]
from numatune import mempolicy
from numatune.launch import quick
mempolicy.set_task("local")
before = os.sched_getaffinity(0)
{refuse}
print(quick._bound(f"{{1 << 4000:x}}", "preferred", [{NODE}], before), mempolicy.of_task().mode)
print(os.sched_getaffinity(0) == before)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False local\nTrue\n"
