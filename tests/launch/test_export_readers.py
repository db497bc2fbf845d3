"""What export-launch prints, read by whom it is for; each reader also shows that it would have told of a mistake."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from launch import readers
from launch.test_export import exported

AMD = {
    "nodes": {0: "0-7", 1: "8-15"},
    "devices": {"c1:00.0": {"node": 0, "vendor": "1002", "names": ["card1", "renderD128"]}},
}
MANY = {"nodes": {0: "0-71", 1: "72-143", **{node: {"memory": 0} for node in range(2, 34)}}}
POLICIES: list[dict[str, Any]] = [
    {},
    {"cpu": "none", "memory": "none"},
    {"cpu": "exclusive", "memory": "bind", "reserve_cores": 2, "env": {"OMP_NUM_THREADS": "cores"}},
    {"memory": "interleave"},
    {"shm": "interleave"},
]
SPARSE = {"nodes": {node: f"{node}-{node + 1}" for node in (0, 8, 16)}, "devices": {"c1:00.0": 0}}

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)
every_shape = pytest.mark.parametrize("shape", [None, AMD, SPARSE], ids=["nvidia", "amd", "sparse"])

KUBELET = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind"],
    "properties": {
        "apiVersion": {"const": "kubelet.config.k8s.io/v1beta1"},
        "kind": {"const": "KubeletConfiguration"},
        "cpuManagerPolicy": {"enum": ["none", "static"]},
        "cpuManagerPolicyOptions": {"type": "object", "additionalProperties": {"enum": ["true", "false"]}},
        "reservedSystemCPUs": {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"},
        "topologyManagerPolicy": {"enum": ["none", "best-effort", "restricted", "single-numa-node"]},
        "topologyManagerScope": {"enum": ["container", "pod"]},
        "topologyManagerPolicyOptions": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "max-allowable-numa-nodes": {"type": "string", "pattern": "^[0-9]+$"},
                "prefer-closest-numa-nodes": {"enum": ["true", "false"]},
            },
        },
    },
}
"""No package has it: from kubelet/config/v1beta1/types.go, whose options are maps of texts to texts."""


def test_compose(tmp_path: Path):
    """All in one file: the Python one takes its time to start."""
    asked = {
        f"server{place}": yaml.safe_load(exported("compose", policy, shape))["services"]["server"]
        for place, (policy, shape) in enumerate(itertools.product(POLICIES, (None, AMD, SPARSE)))
    }
    services = {name: {"image": "example", **keys} for name, keys in asked.items()}
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump({"services": services}))
    done = readers.compose(tmp_path / "compose.yaml")
    assert done.returncode == 0, done.stderr
    for name, server in yaml.safe_load(done.stdout)["services"].items():
        assert {*asked[name]} <= {*server}
        assert server.get("cpuset") == asked[name].get("cpuset")


def test_compose_would_have_told(tmp_path: Path):
    (tmp_path / "compose.yaml").write_text("services: {server: {image: example, cpuset_mems: '0'}}\n")
    assert "cpuset_mems" in readers.compose(tmp_path / "compose.yaml").stderr


@every_policy
@every_shape
def test_a_quadlet(policy: dict[str, Any], shape: dict[str, Any] | None, tmp_path: Path):
    text = exported("podman-quadlet", policy, shape)
    (tmp_path / "server.container").write_text(f"{text}Image=example.org/server:1\n")
    _, _, beside = text.partition("# and beside it, as server-shm.volume:\n")
    if beside:
        lines = (line.removeprefix("# ") for line in beside.splitlines() if line.startswith("# "))
        (tmp_path / "server-shm.volume").write_text("\n".join(lines) + "\n")
    done = readers.quadlet(tmp_path)
    assert done.returncode == 0, done.stderr
    runs = [line for line in done.stdout.splitlines() if line.startswith("ExecStart=") and "podman run" in line]
    words = shlex.split(runs[0])
    asked = [line.partition("=")[2] for line in text.splitlines() if line.startswith("PodmanArgs=")]
    assert set(asked) <= set(words)
    assert "cap_sys_nice" in words
    assert ("mpol=interleave:" in done.stdout) == bool(beside)


def test_a_quadlet_would_have_told(tmp_path: Path):
    (tmp_path / "server.container").write_text("[Container]\nImage=example\nCpusetMems=0\n")
    done = readers.quadlet(tmp_path)
    assert done.returncode
    assert "unsupported key 'CpusetMems'" in done.stderr


@pytest.mark.parametrize("same_hosts", [False, True])
@every_policy
def test_srun(policy: dict[str, Any], same_hosts: bool, tmp_path: Path):  # noqa: FBT001  # a parameter of the test
    for line in exported("slurm", policy, same_hosts=same_hosts).splitlines():
        if not line.startswith("#"):
            done = readers.srun(shlex.split(line)[1:], tmp_path)
            assert "Unable to contact slurm controller" in done.stderr  # all was understood
            assert "rror: " not in done.stderr.replace("srun: error: Unable to allocate resources: ", "")


def test_srun_would_have_told(tmp_path: Path):
    done = readers.srun(["--cpu-bind=mask_cpu:0xzz", "true"], tmp_path)
    assert "Failed to parse --cpu-bind= values" in done.stderr


def test_mpirun():
    (line,) = exported("mpirun").splitlines()
    done = readers.mpirun(shlex.split(line)[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Process rank:") == 8, done.stdout


def test_mpirun_would_have_told():
    done = readers.mpirun(["--map-by", "ppr:8:nodes", "true"])
    assert "rank:" not in done.stdout.lower()
    assert "ppr" in done.stdout + done.stderr


def test_a_kubelet_and_its_pod():
    schema, registry = readers.kubernetes("pod-v1")
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
    kubelet = jsonschema.Draft202012Validator(KUBELET)
    for policy, shape in itertools.product(POLICIES, (None, AMD, SPARSE, MANY)):
        configuration, pod = yaml.safe_load_all(exported("kubelet", policy, shape))
        kubelet.validate(configuration)
        validator.validate(pod)
    pod["spec"]["containers"][0]["cpuset"] = "0-3"
    with pytest.raises(jsonschema.ValidationError, match="cpuset"):
        validator.validate(pod)
