"""The proof after exec: numa_maps.yaml has its lines; the rest looks at this machine's own processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.process import no_nobody
from launch.test_run import CPUS, NODE, ROOT, numatune

from numatune.cpus import CpuSet
from numatune.launch import carried, numa_maps, proof
from numatune.launch.carried import Carried
from numatune.launch.model import Memory, Placement
from numatune.views.placement_proof import table
from numatune.views.style import Style

LINES = yaml.safe_load(Path(__file__).with_name("numa_maps.yaml").read_text())

numa = pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel has no NUMA")


@pytest.mark.parametrize("case", [pytest.param(case, id=case["tells"]) for case in LINES])
def test_a_line_of_numa_maps(case: dict[str, Any]):
    found = list(numa_maps.parse(case["line"]))
    if case["is"] is None:
        assert found == []
        return
    (mapped,) = found
    told = {"mode": mapped.mode, "nodes": str(mapped.nodes), "kib": dict(mapped.kib), "own": mapped.own}
    assert told == case["is"]


@numa
def test_every_line_of_this_process_is_one():
    text = Path("/proc/self/numa_maps").read_text()
    assert len(list(numa_maps.parse(text))) == len(text.splitlines())


@pytest.mark.parametrize(
    "placement",
    [
        Placement(rank=3, devices=("0000:41:00.0",), node=1, cpus=CpuSet([1, 2]), bound=True, memory=Memory()),
        Placement(rank=None, devices=(), node=None, cpus=CpuSet([1]), bound=False, memory=Memory()),
        Placement(rank=0, devices=("a", "b"), node=0, cpus=CpuSet([9]), bound=True, memory=Memory()),
    ],
)
@pytest.mark.parametrize(
    "held", [Memory("preferred", CpuSet([1])), Memory("local"), Memory(), Memory("interleave", CpuSet([0, 8]))]
)
def test_a_placement_travels_as_it_is(placement: Placement, held: Memory):
    cpus = placement.cpus if placement.bound else CpuSet()
    wanted = Carried(placement.rank, placement.node, cpus, held, placement.devices)
    assert carried.read(carried.travelling(placement, held)) == wanted


@pytest.mark.parametrize("text", ["2 rank=0", "1 memory=nearest:0", "1 cpus=3-1", "1 rank=x"])
def test_what_is_no_placement(text: str):
    with pytest.raises(ValueError, match=r"."):
        carried.read(text)


@contextmanager
def started(*options: str, code: str = "", env: dict[str, str] | None = None) -> Iterator[int]:
    """A process that numatune has started and that has done its work."""
    body = f"import sys\n{code}\nprint('ready', flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-m", "numatune", "run", "--quiet", *options, "--", sys.executable, "-I", "-c", body]
    given = {**os.environ, "PYTHONPATH": str(ROOT), "NUMATUNE_STATE_DIR": "/nonexistent", **(env or {})}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=given) as child:
        assert child.stdout
        assert child.stdin
        assert child.stdout.readline() == "ready\n"
        yield child.pid
        child.stdin.close()


@numa
def test_what_was_started_is_as_wanted():
    work = "import threading; x = bytearray(b'x') * (8 << 20); threading.Thread(target=sys.stdin.read).start()"
    options = ("--rank", "0", "--local-size", "1", "--cpus", str(CPUS[-1]), "--memory-nodes", str(NODE))
    with started(*options, code=work) as pid:
        (found,) = proof.processes([pid])
        assert found.wanted == Carried(0, NODE, CpuSet([CPUS[-1]]), Memory("preferred", CpuSet([NODE])))
        assert len(found.threads) == 2
        assert {str(thread.cpus) for thread in found.threads} == {str(CPUS[-1])}
        assert {thread.policy for thread in found.threads} == {"preferred"}
        assert found.kib[NODE] > 8 << 10
        assert (found.remote, found.differences) == (0.0, ())
        ran = numatune("ps", "--json")
        (row,) = [row for row in json.loads(ran.stdout)["processes"] if row["pid"] == pid]
        assert row["wanted"]["cpus"] == str(CPUS[-1])
        assert row["differences"] == []
        assert "as wanted" in numatune("ps", "--pid", str(pid)).stdout
        assert numatune("ps", "--pid", str(pid)).returncode == 0
        assert numatune("ps", "--match", "no-such*").stdout.startswith("No process here")


@numa
@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU alone")
def test_what_rebinds_itself_differs():
    work = f"import os; os.sched_setaffinity(0, {CPUS})"
    with started("--cpus", str(CPUS[0]), code=work) as pid:
        ran = numatune("ps", "--pid", str(pid))
        assert ran.returncode == 2
        assert "1 of 1 threads may run elsewhere" in ran.stdout
        assert numatune("ps", "--pid", str(pid), "--differences-ok").returncode == 0


@numa
def test_children_carry_it_and_narrower_ones_are_as_wanted():
    work = f"import os, subprocess; child = subprocess.Popen(['taskset', '-c', '{CPUS[0]}', 'sleep', '60'])"
    work += "\nimport atexit; atexit.register(child.kill)"
    with started(code=work):
        for _ in range(50):
            found = [one for one in proof.processes(match="sleep") if one.threads[0].cpus == CpuSet([CPUS[0]])]
            if found:
                break
            time.sleep(0.1)
        assert found[0].wanted
        assert found[0].differences == ()


@numa
def test_pages_elsewhere_are_a_difference():
    """No second node here: what was wanted is what is made up."""
    with started(env={"NUMATUNE_PLACEMENT": "ours is the last word"}, code="x = bytearray(b'x') * (4 << 20)") as pid:
        (found,) = proof.processes([pid])
    wanted = Carried(memory=Memory("preferred", CpuSet([NODE + 1])))
    away = proof._judged(proof.Proof(pid=1, name="x", user=0, wanted=wanted, kib=found.kib, threads=found.threads))  # noqa: SLF001  # as above
    assert away.remote == 1.0
    assert "100.0% of its memory is elsewhere" in away.differences
    assert f"threads have another memory policy (preferred {NODE})" in " ".join(away.differences)
    assert "100.0%" in table([away], Style(colour=False, unicode=True, width=160))


def test_any_process_can_be_looked_at():
    ran = numatune("ps", "--pid", str(os.getpid()))
    assert "not started by numatune" in ran.stdout
    ran = numatune("ps", "--pid", "4194305")
    assert (ran.returncode, ran.stderr) == (1, "numatune: process 4194305: is not there\n")


@pytest.mark.skipif(bool(no_nobody()), reason=no_nobody())
@numa
def test_other_peoples_processes_are_told_as_such():
    code = f"import os; os.setuid(65534); from numatune.launch import proof; (p,) = proof.processes([{os.getpid()}])"
    code += "; print(p.unreadable, p.wanted, len(p.threads) > 0, p.kib)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stdout == "another user's: needs root None True {}\n"
