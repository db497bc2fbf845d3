"""Memory that is given a policy before it is touched, and shared memory from outside its server, over four nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.machine import Machine
from lab.reports import PAGES, failed
from lab.scripts import until
from lab.ssh import Answer

pytestmark = pytest.mark.lab

BUFFERS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "cases/buffers.yaml").read_text(encoding="utf-8"))
WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"
TOUCH = "/usr/bin/python3 -IS /opt/numatune/guest/toucher.py"
SERVER, PID = (f"$(systemctl show --value --property=MainPID {unit})" for unit in ("server", "container"))
KV = "/dev/shm/kv"  # noqa: S108  # of the guest


def test_a_buffer_is_where_its_policy_says(nps2: Machine) -> None:
    weights = "\n".join(f"echo {weight} > {WEIGHTS}/node{node}" for node, weight in enumerate((1, 2, 4, 5)))
    told = json.loads(nps2.run(f"{weights}\npython3 /opt/numatune/guest/buffers.py").out)
    wrong = {
        name: found
        for name, found in told.items()
        if found != ours(BUFFERS[name.partition(",")[0]], touched=not name.endswith("next"))
    }
    assert wrong == {}
    assert len(told) == 3 * len(BUFFERS)


def ours(wanted: dict[str, Any], *, touched: bool) -> dict[str, Any]:
    return {"said": wanted["said"], "pages": {str(n): c for n, c in wanted["pages"].items()} if touched else {}}


def test_shared_memory_is_placed_from_outside_its_server(nps2: Machine) -> None:
    """Before a server touches it, after, while others map it, before it is there, and in another mount namespace."""
    told = nps2.batch(
        {
            "begun": f"truncate -s 2M {KV}; numactl --membind=0 {TOUCH} {KV} 0 256",  # a server was quicker
            "interleave": "numatune shm policy kv --interleave --json",
            "rest": f"{TOUCH} {KV} 256 512; {PAGES} file {KV}",
            "show": "numatune shm show kv --json",
            "server": f"systemd-run --quiet --collect --unit=server {TOUCH} {KV} 0 512 stay; "
            + until(f"grep -q {KV} /proc/{SERVER}/maps"),
            "bind": "numatune shm policy kv --bind 3 --migrate --json",
            "moved": f"{PAGES} file {KV}",
            "interleave again": "numatune shm policy kv --interleave --nodes 0-1 --json",
            "not without the right": "setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "
            "numatune shm policy kv --prefer 1 --migrate --json",
            "stayed": f"{PAGES} file {KV}; systemctl stop server; rm {KV}",
            "late": "( sleep 3; truncate -s 1M /dev/shm/late ) & "
            "numatune shm policy late --bind 2 --wait 60 --json; wait",
            "touched late": f"{TOUCH} /dev/shm/late 0 256; {PAGES} file /dev/shm/late; rm /dev/shm/late",
            "container": "systemd-run --quiet --collect --unit=container -p TemporaryFileSystem=/dev/shm sh -c "
            f"'truncate -s 1M {KV}; exec sleep 1000'; {until(f'test -s /proc/{PID}/root{KV}')}",
            "inside": f"numatune shm policy kv --prefer 1 --pid {PID} --json",
            "touched inside": f"nsenter --target {PID} --mount {TOUCH} {KV} 0 256",
            "show inside": f"numatune shm show kv --pid {PID} --json; test ! -e {KV}; systemctl stop container",
        }
    )
    spoken = {"interleave", "bind", "interleave again", "not without the right"}
    assert failed({name: one for name, one in told.items() if name not in spoken}) == {}
    assert {name: told[name].err for name in spoken} == {
        "interleave": "numatune: 1024 KiB were placed already; 0 KiB of it moved\n",
        "bind": "numatune: 2048 KiB were placed already; 1792 KiB of it moved\n",
        "interleave again": "numatune: 2048 KiB were placed already; 0 KiB of it moved\n",
        "not without the right": "numatune: 2048 KiB were placed already; 0 KiB of it moved\n",
    }
    assert json.loads(told["rest"].out) == {"0": 256 + 64, "1": 64, "2": 64, "3": 64}
    assert kib(told["show"]) == {"0": 1280, "1": 256, "2": 256, "3": 256}
    assert json.loads(told["moved"].out) == json.loads(told["stayed"].out) == {"3": 512}
    assert json.loads(told["touched late"].out) == {"2": 256}
    assert kib(told["show inside"]) == {"1": 1024}


def kib(told: Answer) -> dict[str, int]:
    found: dict[str, int] = json.loads(told.out)["kib"]
    return found
