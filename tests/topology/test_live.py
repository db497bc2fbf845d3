"""This machine, against what its own tools say of it. Nothing is written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.host.local import LocalHost
from numatune.topology.model import Topology

MIB = 1 << 20


def answer(*argv: str) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed here")
    return subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


@pytest.fixture(scope="module")
def topology() -> Topology:
    return discover(LocalHost())


def test_nodes_are_those_of_numactl(topology: Topology):
    told = answer("numactl", "-H")
    cpus = {int(node): CpuSet(map(int, some.split())) for node, some in re.findall(r"node (\d+) cpus:(.*)", told)}
    if not cpus:
        pytest.skip("numactl knows of no nodes here")
    assert {node.id: node.cpus for node in topology.nodes} == cpus
    rows = re.findall(r"^\s+(\d+):\s+([\d ]+)$", told, re.MULTILINE)
    assert {node.id: list(node.distances.values()) for node in topology.nodes} == {
        int(node): list(map(int, row.split())) for node, row in rows
    }


def test_memory_of_the_nodes_is_that_of_the_machine(topology: Topology):
    total = topology.machine.memory_bytes
    sizes = [node.memory_bytes or 0 for node in topology.nodes]
    if not sizes or total is None:
        pytest.skip("this kernel tells of no nodes")
    # Where memory is initialised late (deferred_init) each of several nodes counts its pages as it goes.
    lag = total // 8 if len(sizes) > 1 else MIB
    assert total - lag <= sum(sizes) <= total + 64 * MIB


def test_cpus_are_those_of_lscpu(topology: Topology):
    rows = json.loads(answer("lscpu", "-J", "-e=CPU,CORE,SOCKET,NODE,ONLINE"))["cpus"]
    online = {int(row["cpu"]): row for row in rows if row["online"] in {"yes", True}}
    assert set(topology.cpus.online) == set(online)
    cores: dict[str, set[int]] = {}
    for cpu, row in online.items():
        cores.setdefault(str(row["core"]), set()).add(cpu)
    assert sorted(map(set, (core.cpus for core in topology.cpus.cores)), key=min) == sorted(cores.values(), key=min)


def test_architecture_and_kernel_are_those_of_uname(topology: Topology):
    assert (topology.machine.kernel, topology.machine.arch) == (os.uname().release, os.uname().machine)
    assert topology.machine.page_size == os.sysconf("SC_PAGE_SIZE")


def test_every_pci_device_is_there_with_the_driver_that_has_it(topology: Topology):
    folder = Path("/sys/bus/pci/devices")
    if not folder.is_dir():
        pytest.skip("no PCI here")
    assert {device.address for device in topology.devices} == {path.name for path in folder.iterdir()}
    for device in topology.devices:
        driver = folder / device.address / "driver"
        assert device.driver == (driver.resolve().name if driver.exists() else "")


def test_every_vector_is_there_once(topology: Topology):
    numbers = sorted(int(path.name) for path in Path("/sys/bus/pci/devices").glob("*/msi_irqs/*"))
    if not numbers:
        pytest.skip("no message-signalled interrupts here")
    assert sorted(irq.number for irq in topology.interrupts) == numbers
    assert len({(irq.device, irq.index) for irq in topology.interrupts}) == len(numbers)


def test_names_of_vectors_are_those_of_proc_interrupts(topology: Topology):
    rows = Path("/proc/interrupts").read_text()
    for irq in topology.interrupts:
        if irq.name:
            assert re.search(rf"^\s*{irq.number}:.*{re.escape(irq.name)}\s*$", rows, re.MULTILINE)


def run(*arguments: str, user: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numatune", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, user=user)


def test_the_command_prints_text_and_json():
    text = run("topology")
    assert text.returncode == 0, text.stderr
    assert text.stdout.startswith("Host ")
    data = json.loads(run("topology", "--json").stdout)
    assert data["host"]["root"] == "/"
    assert data["cpus"]["online"] == str(discover(LocalHost()).cpus.online)


def test_the_command_says_what_is_wrong_with_a_tree(tmp_path: Path):
    failed = run("--root", str(tmp_path / "none.tar"), "topology")
    assert failed.returncode == 1
    assert "none.tar: cannot be read: No such file or directory" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_nobody_sees_the_same_topology(topology: Topology):
    code = (
        "from numatune.discover import discover; from numatune.host.local import LocalHost;"
        "print(*(f'{n.id}={n.cpus}' for n in discover(LocalHost()).nodes))"
    )
    command = [sys.executable, "-c", code]
    try:
        seen = subprocess.run(
            command, capture_output=True, text=True, check=False, user=65534, group=65534, extra_groups=[]
        )
    except PermissionError:
        pytest.skip("this Python is root's alone")
    if "Permission denied" in seen.stderr or "No module named" in seen.stderr:
        pytest.skip("nobody cannot read this checkout")
    assert seen.returncode == 0, seen.stderr
    assert seen.stdout.split() == [f"{node.id}={node.cpus}" for node in topology.nodes]
