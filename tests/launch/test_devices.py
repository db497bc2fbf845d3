"""What the driver gives a process, on hosts of files; and NVIDIA's library, as a stub that the test builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune import api
from numatune.cpus import CpuSet
from numatune.launch import devices, nvml
from numatune.launch import host as launch_host
from numatune.launch.policy import Policy
from numatune.launch.ranks import Rank
from numatune.launch.visible import Accelerator, Seen, visible

STUB = Path(__file__).with_name("stub_nvml.c")
COMPILER = shutil.which("cc") or shutil.which("gcc")
A, B, C = "0000:41:00.0", "0000:42:00.0", "0000:43:00.0"


def nvidia(*addresses: str, minors: bool = True) -> dict[str, str]:
    tree = {}
    for minor, address in enumerate(addresses):
        information = (
            f"Model: \t\t H200\nIRQ:   \t\t 16\nGPU UUID: \t GPU-{minor}{minor}-aa\nBus Location: \t {address}\n"
        )
        information += f"Device Minor: \t {minor}\n" if minors else ""
        tree[f"/proc/driver/nvidia/gpus/{address}/information"] = information
    return tree


def kfd(*nodes: dict[str, int]) -> dict[str, str]:
    return {
        f"/sys/class/kfd/kfd/topology/nodes/{place}/properties": "".join(
            f"{key} {value}\n" for key, value in one.items()
        )
        for place, one in enumerate(nodes)
    }


def kernel(accelerators: list[dict[str, object]], files: dict[str, str], *, live: bool = True) -> FakeKernel:
    tree = host_tree(nodes=2, cpus_per_node=8, accelerators=accelerators)
    tree.update(files)
    return FakeKernel(tree, live=live)


def given(reader: FakeKernel, may_open: Callable[[str], bool] = lambda _: True) -> tuple[Accelerator, ...]:
    return devices.accelerators(reader, launch_host.look(reader), may_open).given


GPUS: list[dict[str, object]] = [
    {"address": address, "node": node, "vendor": "10de"} for address, node in ((A, 0), (B, 0), (C, 1))
]
AMDS: list[dict[str, object]] = [{"address": address, "node": 0, "vendor": "1002"} for address in (A, B)]


def test_a_process_is_given_what_it_may_open():
    reader = kernel(GPUS, nvidia(A, B, C))
    assert [(one.address, one.uuid) for one in given(reader)] == [(A, "GPU-00-aa"), (B, "GPU-11-aa"), (C, "GPU-22-aa")]
    some = given(reader, lambda path: path in {"/dev/nvidia0", "/dev/nvidia2"})
    assert [one.address for one in some] == [A, C]
    found = devices.accelerators(reader, launch_host.look(reader), lambda _: False)
    assert (found.given, found.kin) == ((), {A, B, C})


def test_without_the_driver_a_live_host_gives_none():
    assert given(kernel(GPUS, {})) == ()
    assert [one.address for one in given(kernel(GPUS, {}, live=False))] == [A, B, C]


def test_a_captured_driver_list_goes_before_pci():
    captured = kernel(GPUS, nvidia(B, minors=False), live=False)
    assert [one.address for one in given(captured, lambda _: False)] == [B]


def test_the_drivers_list_tells_whose_a_device_is_where_the_tree_does_not():
    tree = host_tree(nodes=2, cpus_per_node=8, accelerators=[{**one, "class": "030000"} for one in GPUS])
    tree = {path: held for path, held in tree.items() if not path.endswith(("/vendor", "/driver"))}
    reader = FakeKernel({**tree, **nvidia(A, B)}, live=False)
    topology = launch_host.look(reader)
    kinds = {one.address: (one.kind, one.vendor) for one in topology.devices}
    assert [kinds[address] for address in (A, B, C)] == [("accelerator", "10de")] * 2 + [("other", "")]
    assert [one.address for one in devices.accelerators(reader, topology, lambda _: False).given] == [A, B]


def test_mig_instances_by_their_numbers():
    files = nvidia(A, B)
    for instance in ("gi1/ci0", "gi2/ci0", "gi2/ci1"):
        files[f"/proc/driver/nvidia/capabilities/gpu1/mig/{instance}/access"] = "DeviceFileMinor: 12\n"
    found = given(kernel(GPUS, files))
    assert [one.instances for one in found] == [(), ("1/0", "2/0", "2/1")]
    seen = visible({"CUDA_VISIBLE_DEVICES": "MIG-GPU-11-aa/2/0"}, found).devices
    assert seen == (Seen(B, 1, 3, "MIG-GPU-11-aa/2/0"),)


def test_gpus_of_rocm_in_the_order_of_their_driver():
    cpu = {"cpu_cores_count": 8, "simd_count": 0, "location_id": 0}
    second = {"simd_count": 304, "location_id": 0x4200, "domain": 0, "drm_render_minor": 129, "unique_id": 0xABC}
    first = {"simd_count": 304, "location_id": 0x4100, "domain": 0, "drm_render_minor": 128, "unique_id": 0}
    reader = kernel(AMDS, kfd(cpu, second, first))
    assert [(one.address, one.uuid) for one in given(reader)] == [(B, "GPU-0000000000000abc"), (A, "")]
    assert [one.address for one in given(reader, lambda path: path == "/dev/dri/renderD128")] == [A]
    assert given(kernel(AMDS, {})) == ()


def test_partitions_of_an_amd_device():
    parts = [
        {"simd_count": 38, "location_id": 0x4100 + part, "drm_render_minor": 128 + part, "unique_id": 7 + part}
        for part in range(4)
    ]
    found = given(kernel(AMDS[:1], kfd(*parts)))
    assert [(one.address, one.part, one.parts) for one in found] == [(A, part, 4) for part in range(4)]


def test_other_vendors_by_their_render_nodes():
    cards = [{"address": A, "node": 0, "vendor": "8086", "class_": "0380", "names": ["card0", "renderD128"]}]
    reader = kernel(cards, {})
    assert [one.address for one in given(reader)] == [A]


# --- NVIDIA's library -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C compiler for the stub of NVML")
    folder = tmp_path_factory.mktemp("nvml")
    command = [COMPILER, "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(STUB)]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture
def stub(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    monkeypatch.setattr(launch_host, "may_open", lambda _: True)
    return monkeypatch


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@pytest.mark.usefixtures("stub")
def test_the_library_tells_one_node_or_none():
    before = children()
    assert nvml.ask([A, B, C, "MIG-1234", "MIG-9"]) == {A: "1", "MIG-1234": C}
    assert children() == before


def test_a_library_that_fails_or_is_not_there_tells_nothing(stub: pytest.MonkeyPatch):
    stub.setenv("STUB_NVML_FAILS", "1")
    assert nvml.ask([A]) == {}
    stub.setenv("LD_LIBRARY_PATH", "/nowhere")
    assert nvml.ask([A]) == {}


def test_a_library_that_hangs_is_left(stub: pytest.MonkeyPatch, tmp_path: Path):
    stub.setenv("STUB_NVML_HANGS", "1")
    stub.setenv("STUB_NVML_TRACE", str(tmp_path / "late"))
    before = children()
    assert nvml.ask([A], seconds=0.5) == {}
    assert children() == before
    time.sleep(0.2)
    assert not (tmp_path / "late").exists()


@pytest.mark.usefixtures("stub")
def test_a_device_without_a_node_is_placed_by_the_library():
    lost: list[dict[str, object]] = [{"address": address, "node": -1, "vendor": "10de"} for address in (A, B)]
    at = api.scene(kernel(lost, nvidia(A, B)), {}, cpus=CpuSet(range(16)))
    made = api.placements(at, Policy(), 2)
    assert [(one.node, one.devices) for one in made] == [(1, (A,)), (None, (B,))]
    assert any(step.reason == f"{A}, by nvml" for step in made[0].steps)


@pytest.mark.usefixtures("stub")
def test_a_mig_instance_is_placed_by_the_library():
    at = api.scene(kernel(GPUS, nvidia(A, B, C)), {"CUDA_VISIBLE_DEVICES": "MIG-1234"}, cpus=CpuSet(range(16)))
    made = api.placement(at, Policy(cpu="exclusive"), Rank(0, 1))
    assert (made.devices, made.node) == ((C,), 1)
    assert any("shared with other partitions" in step.reason for step in made.steps)


def test_where_the_kernel_tells_the_library_is_not_asked(stub: pytest.MonkeyPatch, tmp_path: Path):
    stub.setenv("STUB_NVML_TRACE", str(tmp_path / "asked"))
    api.scene(kernel(GPUS, nvidia(A, B, C)), {})
    assert not (tmp_path / "asked").exists()
    assert nvml.ask([A]) == {A: "1"}
    assert (tmp_path / "asked").exists()
