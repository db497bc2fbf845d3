"""`numatune ps` on four nodes: as wanted until a thread or pages are moved; across namespaces; without root."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab import driver
from lab.launched import ready
from lab.machine import Machine
from lab.reports import failed
from lab.ssh import Answer

pytestmark = pytest.mark.lab

SERVER = "/usr/bin/python3 -IS /opt/numatune/guest/server.py"
PS = "numatune ps --json"
ENGINE = "/root/trtllm-llmapi-launch"


@pytest.fixture(autouse=True)
def guest(nps2: Machine) -> Iterator[Machine]:
    """Accelerators at nodes 2 and 3; servers end with their test."""
    driver.give(nps2, ("0000:61:00.0", "0000:81:00.0"))
    still = "echo never > /sys/kernel/mm/transparent_hugepage/enabled"  # no page comes but by the server's own doing
    nps2.run(f"install -d -m 1777 /run/ready; {still}")
    yield nps2
    # The first process of a PID namespace hears no other signal, and would be waited for.
    nps2.run("systemctl kill --signal=KILL 'server-*.service'; systemctl stop 'server-*.service'; rm -rf /run/ready/*")


def started(rank: int, *words: str, before: str = "", limits: str = "", through: str = "") -> str:
    """A server in a unit of its own, placed; back when it has touched its memory."""
    file = f"/run/ready/{rank}"
    server = f"{before} numatune run --rank {rank} --local-size 2 -- {through} {SERVER} {file} {' '.join(words)}"
    return f"systemd-run --quiet --collect --unit=server-{rank} {limits} {server} && {ready(file)}"


def processes(told: Answer) -> dict[int, dict[str, Any]]:
    """By rank."""
    return {one["wanted"]["rank"]: one for one in json.loads(told.out)["processes"]}


def differences(told: Answer) -> dict[int, list[str]]:
    return {rank: one["differences"] for rank, one in processes(told).items()}


def test_what_was_moved_differs_until_it_is_back(guest: Machine) -> None:
    pids = {rank: f"$(systemctl show --value --property=MainPID server-{rank})" for rank in (0, 1)}
    thread = f"$(ls /proc/{pids[0]}/task | tail -n 1)"
    told = guest.batch(
        {
            "one": started(0),
            "other": started(1),
            "placed": PS,
            "re-pin": f"taskset --pid --cpu-list 1 {thread} >/dev/null; migratepages {pids[1]} 3 0",
            "moved": PS,
            "shown": "numatune ps --no-color",
            "back": f"taskset --pid --cpu-list 2 {thread} >/dev/null; migratepages {pids[1]} 0 3",
            "as before": PS,
        }
    )
    assert failed(told, moved=2, shown=2) == {}
    placed = processes(told["placed"])
    assert [(threads(one), one["remote"]) for one in placed.values()] == [
        ([at_node(2)] * 3, 0.0),
        ([at_node(3)] * 3, 0.0),
    ]
    assert [[*one["kib"]] for one in placed.values()] == [["2"], ["3"]]
    assert [one["kib"][str(rank + 2)] >= 4096 for rank, one in placed.items()] == [True, True]
    moved = processes(told["moved"])
    assert moved[0]["differences"] == ["1 of 3 threads may run elsewhere (CPUs 1)"]
    assert moved[1]["differences"] == [f"{moved[1]['remote']:.1%} of its memory is elsewhere"]
    assert (moved[1]["remote"] > 0.9, moved[1]["kib"]["0"] >= 4096) == (True, True)
    assert told["shown"].out.count("differs") == 2
    assert differences(told["as before"]) == {0: [], 1: []}


def threads(process: dict[str, Any]) -> list[tuple[str, str, str]]:
    """CPUs and policy of each."""
    return [(one["cpus"], one["memory"]["mode"], one["memory"]["nodes"]) for one in process["threads"]]


def at_node(node: int) -> tuple[str, str, str]:
    return str(node), "preferred", str(node)


def test_a_thread_that_takes_another_policy_differs(guest: Machine) -> None:
    told = guest.batch({"start": started(0, "rebind"), "ps": PS})
    assert failed(told, ps=2) == {}
    assert differences(told["ps"]) == {0: ["1 of 3 threads have another memory policy (local)"]}


def test_workers_of_an_engine_that_forks_keep_the_placement(guest: Machine) -> None:
    """TensorRT-LLM's launcher runs a worker beside what it is given, and would take the affinity away if not told."""
    guest.ssh.put({ENGINE: f'#!/bin/sh\n{SERVER} /run/ready/worker &\n"$@" &\nwait\n'})
    told = guest.batch(
        {
            "start": f"chmod +x {ENGINE}; {started(0, through=ENGINE)}; {ready('/run/ready/worker')}",
            "ps": PS,
            "told": "tr '\\0' '\\n' < /proc/$(pgrep --newest python3)/environ | grep ^TLLM_",
        }
    )
    assert failed(told) == {}
    found = json.loads(told["ps"].out)["processes"]
    wanted = [("trtllm-llmapi-l", 1), ("python3", 3), ("python3", 3)]
    assert [(one["name"], threads(one)) for one in found] == [(name, [at_node(2)] * count) for name, count in wanted]
    assert [one["differences"] for one in found] == [[], [], []]
    assert told["told"].out == "TLLM_NUMA_AWARE_WORKER_AFFINITY=0\n"


def test_it_looks_into_containers_and_needs_no_root_for_ones_own(guest: Machine) -> None:
    """One in PID and mount namespaces of its own, one of somebody else."""
    container = "unshare --pid --fork --mount --mount-proc"
    inside = "$(pgrep --parent $(systemctl show --value --property=MainPID server-0))"
    told = guest.batch(
        {
            "container": started(0, before=container),
            "somebody's": started(1, limits="--property=User=nobody"),
            "host": PS,
            "inside": f"nsenter --target {inside} --pid --mount {PS}",
            "nobody": f"setpriv --reuid=nobody --regid=nogroup --clear-groups {PS}",
        }
    )
    assert failed(told) == {}
    assert differences(told["host"]) == {0: [], 1: []}
    host, inside_, own = (processes(told[name]) for name in ("host", "inside", "nobody"))
    assert (host[0]["pid"] > 1, inside_[0]["pid"], [*inside_]) == (True, 1, [0])
    assert {key: host[0][key] for key in ("kib", "remote")} == {key: inside_[0][key] for key in ("kib", "remote")}
    varies = {"kib": {}}  # it grows yet
    assert {rank: one | varies for rank, one in own.items()} == {1: host[1] | varies}
    assert (own[1]["uid"], [*own[1]["kib"]]) == (65534, ["3"])
