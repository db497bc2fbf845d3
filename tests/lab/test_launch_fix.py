"""Servers that run already are bound by the device that each has open; a container's shared memory from inside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab import driver
from lab.launched import ready
from lab.machine import Machine
from lab.reports import PAGES, failed
from lab.ssh import Answer

pytestmark = pytest.mark.lab

SERVER = "/usr/bin/python3 -IS /opt/numatune/guest/server.py"
TOUCH = "/usr/bin/python3 -IS /opt/numatune/guest/toucher.py"
# A driver's files have numbers that nobody here answers for: those of /dev/null and /dev/zero can be opened.
DEVICES = "rm /dev/nvidia0 /dev/nvidia1; mknod /dev/nvidia0 c 1 3; mknod /dev/nvidia1 c 1 5"


def unit(name: str, command: str) -> str:
    """A server that nobody placed, in a unit of its own, with its memory at node 0 and its device open."""
    server = f"exec numactl --preferred=0 {SERVER} /run/{name} 3</dev/nvidia0"
    return f'systemd-run --quiet --collect --unit={name} {command} "{server}" && {ready(f"/run/{name}")}'


def pid(name: str) -> str:
    return f"$(systemctl show --value --property=MainPID {name})"


def processes(told: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(told.out)["processes"]
    return found


def held(name: str) -> str:
    """CPUs of each thread of a unit."""
    group = f"$(cat /sys/fs/cgroup/system.slice/{name}.service/cgroup.procs)"
    return f"for one in {group}; do grep -h Cpus_allowed_list /proc/$one/task/*/status; done"


def test_servers_are_bound_by_the_device_that_they_have_open(nps2: Machine) -> None:
    """Devices at nodes 2 and 3. The second is inside a container, under the name that the first has outside."""
    driver.give(nps2, ("0000:61:00.0", "0000:81:00.0"))
    container = "unshare --mount sh -c"
    inside = "mount --bind /dev/nvidia1 /dev/nvidia0; "
    fix = f"numatune ps --fix --json --pid {pid('host')} --pid {pid('contained')}"
    told = nps2.batch(
        {
            "devices": DEVICES,
            "host": unit("host", "sh -c"),
            "contained": unit("contained", container).replace("exec ", f"{inside}exec "),
            "planned": f"{fix} --check",
            "free": held("host"),
            "fixed": f"{fix} --yes",
            "bound": held("host"),
            "bound inside": held("contained"),
            "again": f"{fix} --check",
            "stop": "systemctl stop host contained; rm /run/host /run/contained",
        }
    )
    assert failed(told, planned=2) == {}
    assert [(one["devices"], one["node"], one["cpus"], len(one["outside"])) for one in processes(told["planned"])] == [
        (["0000:61:00.0"], 2, "2", 3),
        (["0000:81:00.0"], 3, "3", 3),
    ]
    cpus = {name: told[name].out.split()[1::2] for name in ("free", "bound", "bound inside")}
    assert cpus == {"free": ["0-3"] * 3, "bound": ["2"] * 3, "bound inside": ["3"] * 3}
    for fixed, again in zip(processes(told["fixed"]), processes(told["again"]), strict=True):
        assert (len(fixed["bound"]), fixed["refused"], again["outside"]) == (3, [], [])
        assert fixed["elsewhere_kib"]["0"] >= 4096


def test_a_containers_shared_memory_is_spread_from_inside_it(nps2: Machine) -> None:
    """Exact to the page; without the right, and on the host's own, it is said and the command starts."""
    file = "/dev/shm/blocks"  # noqa: S108  # of the container
    use = f"sh -c 'truncate -s 2M {file}; {TOUCH} {file} 0 512; {PAGES} file {file}'"
    container = "unshare --ipc --mount sh -c 'mount -t tmpfs shm /dev/shm; exec \"$@\"' sh"
    less = "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin"
    told = nps2.batch(
        {
            "spread": f"{container} numatune run --shm interleave --memory none -- {use}",
            "over two": f"{container} numatune run --shm interleave:1-2 --memory none -- {use}",
            "refused": f"{container} {less} numatune run --cpu list --cpus 2 --shm interleave --memory none -- {use}",
            "host": "numatune run --shm interleave --memory none -- true; grep ' /dev/shm ' /proc/mounts",
            "strict": f"{container} {less} numatune run --strict --shm interleave --memory none -- {use}",
        }
    )
    assert json.loads(told["spread"].out) == dict.fromkeys("0123", 128)
    assert json.loads(told["over two"].out) == {"1": 256, "2": 256}
    assert json.loads(told["refused"].out) == {"2": 512}
    assert "shm interleave:0-3 refused: EPERM: it takes CAP_SYS_ADMIN" in told["refused"].err
    assert ("mpol" in told["host"].out, "is the host's own" in told["host"].err) == (False, True)
    assert (told["strict"].code, told["strict"].out) == (125, "")
