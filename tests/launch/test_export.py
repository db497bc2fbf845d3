"""Exports of a launch: each read by its real consumer where there is one here, else held against its grammar."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch.hosts import given, shaped
from launch.test_cases import policy_of
from launch.test_run import NODE, numatune

from numatune import api
from numatune.cli.export_launch import FORMATS as NAMES
from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.export.launch.formats import FORMATS
from numatune.export.launch.job import in_one_word
from numatune.launch.devices import Found
from numatune.launch.policy import MEMORY_MODES
from numatune.launch.visible import visible

DGX = {
    "nodes": {0: "0-55,112-167", 1: "56-111,168-223", 2: {"memory": 96}},
    "siblings": 112,
    "devices": {
        f"{bus}:00.0": {"node": place // 4, "uuid": f"GPU-{bus}"}
        for place, bus in enumerate(["1b", "43", "52", "61", "9d", "c3", "d1", "df"])
    },
}


def exported(
    name: str, policy: dict[str, Any] | None = None, shape: dict[str, Any] | None = None, **options: Any
) -> str:
    shape = shape or DGX
    topology = shaped(shape)
    accelerators = given(topology, shape)
    mems = CpuSet(node.id for node in topology.nodes)
    at = api.Scene(topology, Found(accelerators), visible({}, accelerators), topology.cpus.online, mems, {})
    ranks = options.pop("ranks", len(accelerators) or 1)
    return api.export_launch(at, policy_of(policy or {}), name, ranks=ranks, **options)


def test_the_command_line_names_every_format():
    assert list(NAMES) == list(FORMATS)


def docker(*argv: str) -> str:
    program = shutil.which("docker")
    if program is None:
        pytest.skip("no docker client")
    env = {"PATH": os.environ["PATH"], "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    ran = subprocess.run([program, "run", *argv, "image"], capture_output=True, text=True, check=False, env=env)
    return ran.stderr


def understood(complaint: str) -> bool:
    """Whether docker misses nothing but its daemon, in the words of one series or another."""
    words = ("Cannot connect to the Docker daemon", "failed to connect to the docker API", "unknown server OS")
    return any(some in complaint for some in words) and "unknown flag" not in complaint


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ({}, ["--cpuset-cpus=0-223", "--cpuset-mems=0-1", "--cap-add=SYS_NICE"]),
        ({"memory": "bind"}, ["--cpuset-mems=0-1"]),
        ({"cpu": "none"}, ["--cpuset-mems=0-1"]),
        ({"memory": "interleave"}, ["--tmpfs=/dev/shm:rw,mpol=interleave:0-1"]),
        ({"env": {"OMP_NUM_THREADS": "cores"}}, ["--env=OMP_NUM_THREADS=112"]),
    ],
)
def test_docker_takes_the_options(policy: dict[str, Any], wanted: list[str]):
    options = [word for line in exported("docker", policy).splitlines() for word in shlex.split(line)]
    assert set(wanted) <= set(options)
    assert '--gpus="device=GPU-1b,GPU-43,GPU-52,GPU-61,GPU-9d,GPU-c3,GPU-d1,GPU-df"' in options
    assert understood(docker(*options))
    assert "unknown flag" in docker("--memory-node=0")


def test_one_rank_gets_its_own():
    policy = {"cpu": "exclusive", "reserve_cores": 2, "memory": "bind"}
    text = exported("docker", policy, rank=5)
    assert shlex.split(text)[:4] == [
        "--cpuset-cpus=72-85,184-197",
        "--cpuset-mems=1",
        "--cap-add=SYS_NICE",
        '--gpus="device=GPU-c3"',
    ]


def test_devices_of_other_vendors_and_without_uuids():
    amd = {"nodes": {0: "0-7"}, "devices": {"c1:00.0": {"node": 0, "vendor": "1002", "names": ["card1", "renderD128"]}}}
    options = shlex.split(exported("docker", shape=amd))
    assert options[-2:] == ["--device=/dev/kfd", "--device=/dev/dri/renderD128"]
    assert understood(docker(*options))
    plain = {"nodes": {0: "0-7"}, "devices": {"c1:00.0": 0, "c2:00.0": 0}}
    assert '--gpus="device=1"' in shlex.split(exported("docker", shape=plain, rank=1))
    assert "gpus" not in exported("docker", shape={"nodes": {0: "0-7"}})


def test_compose_is_yaml_of_the_specification():
    server = yaml.safe_load(exported("compose", {"memory": "interleave", "env": {"A": "b"}}))["services"]["server"]
    assert server["cpuset"] == "0-223"
    assert (server["cap_add"], server["environment"]) == (["SYS_NICE"], {"A": "b"})
    assert server["tmpfs"] == ["/dev/shm:rw,mpol=interleave:0-1"]  # noqa: S108  # what is mounted there
    (device,) = server["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["device_ids"][0], device["capabilities"]) == ("nvidia", "GPU-1b", ["gpu"])


def test_a_quadlet_is_one_section_of_known_keys():
    lines = exported("podman-quadlet", {"env": {"A": "b"}}).splitlines()
    assert lines[0] == "[Container]"
    assert {line.partition("=")[0] for line in lines[1:]} == {"PodmanArgs", "AddCapability", "AddDevice", "Environment"}
    assert "AddDevice=nvidia.com/gpu=GPU-1b" in lines


@pytest.mark.parametrize("memory", MEMORY_MODES)
@pytest.mark.parametrize("rank", [None, 5])
def test_systemd_takes_the_drop_in(memory: str, rank: int | None, tmp_path: Path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze")
    text = exported("systemd", {"memory": memory, "cpu": "exclusive", "env": {"A": "b c"}}, rank=rank)
    unit = tmp_path / "server.service"
    unit.write_text(f"[Unit]\nDescription=x\n{text}ExecStart=/bin/true\n")
    ran = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, check=False)
    ours = [line for line in ran.stderr.splitlines() if "server.service" in line]
    assert ours == []
    unit.write_text(f"[Unit]\nDescription=x\n{text}NUMAPolicy=nearest\nExecStart=/bin/true\n")
    ran = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "Invalid NUMA policy type" in ran.stderr  # it would have told


def test_systemds_words():
    lines = exported("systemd", {"cpu": "exclusive", "memory": "bind"}, rank=5).splitlines()
    assert lines == [
        "[Service]",
        "CPUAffinity=70-83,182-195",
        "AllowedCPUs=70-83,182-195",
        "AllowedMemoryNodes=1",
        "NUMAPolicy=bind",
        "NUMAMask=1",
    ]
    assert "# preferred-many is none of systemd's\nNUMAPolicy=local\n" in exported("systemd")


def test_slurm_and_mpirun_are_portable_first():
    assert exported("slurm") == "srun --ntasks-per-node=8 --cpu-bind=none --mem-bind=none numatune run -- CMD\n"
    lines = exported("slurm", {"cpu": "exclusive"}, same_hosts=True).splitlines()
    assert lines[1].startswith("# where every host is like this one")
    masks = re.fullmatch(r"srun --exclusive --ntasks-per-node=8 --cpu-bind=mask_cpu:(\S+) CMD", lines[2])
    assert masks
    assert [str(CpuSet.from_bits(int(mask, 16))) for mask in masks[1].split(",")][5] == "70-83,182-195"
    assert exported("mpirun") == "mpirun --map-by ppr:8:node --bind-to none numatune run -- CMD\n"
    assert exported("mpirun", same_hosts=True).splitlines()[1].startswith("# its own maps go by cores")


@pytest.mark.skipif(shutil.which("numactl") is None, reason="numactl is not installed")
@pytest.mark.parametrize("memory", ["preferred", "bind", "local", "none"])
def test_numactl_takes_its_line(memory: str):
    here = {"nodes": {NODE: str(CpuSet(os.sched_getaffinity(0)))}}
    (line,) = exported("numactl", {"memory": memory}, shape=here).splitlines()
    words = shlex.split(line)
    assert words[-1] == "CMD"
    ran = subprocess.run([*words[:-1], "numactl", "--show"], capture_output=True, text=True, check=True)
    policy = {"local": "local", "none": "default"}.get(memory, memory)
    assert f"policy: {policy}" in ran.stdout


def test_engines_have_an_entry_for_each_device():
    assert exported("vllm") == "--numa-bind --numa-bind-nodes 0 0 0 0 1 1 1 1\n"
    lists = exported("vllm", {"cpu": "exclusive"}).split("--numa-bind-cpus ")[1].split()
    assert (len(lists), lists[1]) == (8, "14-27,126-139")
    assert exported("sglang") == "--numa-node 0 0 0 0 1 1 1 1\n"
    assert "--numa-binding=core-complex SCRIPT" in exported("torchrun", {"cpu": "l3"})
    lost = {"nodes": {0: "0-3", 1: "4-7"}, "devices": {"c1:00.0": 0, "c2:00.0": -1}}
    with pytest.raises(LaunchError, match="rank 1"):
        exported("sglang", shape=lost)


def test_the_kubelets_configuration():
    policy = {"cpu": "exclusive", "reserve_cores": 2}
    configuration, pod = yaml.safe_load_all(exported("kubelet", policy))
    assert configuration["apiVersion"] == "kubelet.config.k8s.io/v1beta1"
    assert configuration["topologyManagerPolicy"] == "single-numa-node"
    assert configuration["reservedSystemCPUs"] == "0-1,56-57,112-113,168-169"
    assert "topologyManagerPolicyOptions" not in configuration
    assert pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "26"
    many = {"nodes": {0: "0-71", 1: "72-143", **{node: {"memory": 0} for node in range(2, 34)}}}
    configuration, pod = yaml.safe_load_all(exported("kubelet", shape=many))
    assert configuration["topologyManagerPolicyOptions"] == {"max-allowable-numa-nodes": "34"}
    assert "nvidia.com/gpu" not in pod["spec"]["containers"][0]["resources"]["limits"]


def test_the_command(tmp_path: Path):
    profile = tmp_path / "asked.yaml"
    profile.write_text("name: asked\nlaunch: {memory: bind}\n")
    ran = numatune("export-launch", str(profile), "--format", "systemd")
    assert ran.stdout.startswith("[Service]\n")
    assert f"NUMAPolicy=bind\nNUMAMask={NODE}" in ran.stdout
    assert numatune("export-launch", "--format", "docker", "--json").stdout.startswith("{")
    wrong = (["--format", "doker"], "doker"), (["--format", "docker", "--rank", "7"], "--rank: 7 of 1 ranks")
    for argv, message in wrong:
        ran = numatune("export-launch", str(profile), *argv)
        assert (ran.returncode, ran.stdout) == (64, "")
        assert message in ran.stderr


@pytest.mark.parametrize(
    ("nodes", "spelled"),
    [("0", "0"), ("0-3", "0-3"), ("0,8", "0-8:1/8"), ("0-1,8-9,16-17", "0-17:2/8"), ("1,3", "1-3:1/2")],
)
def test_nodes_in_an_option_of_a_mount_have_no_comma(nodes: str, spelled: str):
    wanted = CpuSet.parse(nodes)
    assert in_one_word(wanted) == spelled
    assert CpuSet.parse(spelled) == wanted


def test_nodes_that_need_a_comma_are_told():
    for nodes in ("0,2,3", "0-1,4", "0,1,5,9"):
        with pytest.raises(LaunchError, match="a mount option can hold"):
            in_one_word(CpuSet.parse(nodes))
    sparse = {"nodes": {node: str(node) for node in (0, 2, 3)}}
    with pytest.raises(LaunchError, match="0,2-3 is no list"):
        exported("docker", {"shm": "interleave"}, sparse)
    assert "mpol" not in exported("docker", shape=sparse)


AWKWARD = {"A": "/tmp/nccl.%h.%p", "B": 'say "hi" $B ${C}', "D": "it's a \\ b", "E": ""}  # noqa: S108  # a text


def test_compose_gets_every_value_as_it_is():
    text = exported("compose", {"env": AWKWARD})
    told = yaml.safe_load(text)["services"]["server"]["environment"]
    assert told == {name: value.replace("$", "$$") for name, value in AWKWARD.items()}


def test_systemd_gets_every_value_as_it_is():
    lines = exported("systemd", {"env": AWKWARD}).splitlines()
    assert [line for line in lines if line.startswith("Environment=")] == [
        'Environment="A=/tmp/nccl.%%h.%%p"',
        'Environment="B=say \\"hi\\" $B ${C}"',
        'Environment="D=it\'s a \\\\ b"',
        'Environment="E="',
    ]


def test_a_quadlets_values_go_into_a_command_line():
    lines = exported("podman-quadlet", {"env": AWKWARD}).splitlines()
    assert 'Environment="A=/tmp/nccl.%%h.%%p"' in lines
    assert 'Environment="B=say \\"hi\\" $$B $${C}"' in lines


@pytest.mark.parametrize("name", ["docker", "compose", "podman-quadlet"])
def test_devices_without_a_render_node_are_told(name: str):
    device = {"node": 0, "vendor": "1002", "names": ["card1"]}
    lost = {"nodes": {0: "0-7"}, "devices": {"c1:00.0": device, "c6:00.0": {**device, "names": ["renderD129"]}}}
    said = exported(name, shape=lost).splitlines()[-1]
    assert said.startswith("# no /dev/dri/renderD* is known of 0000:c1:00.0: add that of each")
    known = {"nodes": {0: "0-7"}, "devices": {"c1:00.0": {**device, "names": ["renderD128"]}}}
    assert "#" not in exported(name, shape=known)
