"""Engines that start their own workers: engines.yaml holds the cases; the rest is how they are found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch.hosts import given, shaped
from launch.test_cases import policy_of
from launch.test_run import CPUS, numatune

from numatune import api
from numatune.cpus import CpuSet
from numatune.launch.devices import Found
from numatune.launch.engines import installed
from numatune.launch.engines.recognise import engine, places_its_own
from numatune.launch.ranks import Rank
from numatune.launch.visible import visible

CASES = yaml.safe_load(Path(__file__).with_name("engines.yaml").read_text())


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("vllm serve m", "vllm"),
        ("/opt/venv/bin/vllm serve m", "vllm"),
        ("python -m vllm.entrypoints.openai.api_server", "vllm"),
        ("/usr/bin/python3.11 -u -m sglang.launch_server", "sglang"),
        ("python3 /opt/bin/torchrun x.py", "torchrun"),
        ("python3 -m torch.distributed.run x.py", "torchrun"),
        ("python3 -m vllmx", ""),
        ("python3 serve.py -m vllm", ""),
        ("trtllm-llmapi-launch python x.py", "trtllm"),
        ("bash -c vllm", ""),
        ("numactl vllm", ""),
        ("python3", ""),
    ],
)
def test_an_engine_is_known_by_its_words(command: str, name: str):
    assert engine(command.split()) == name


def test_workers_that_call_numatune_themselves():
    assert places_its_own(["torchrun", "-n", "4", "/usr/local/bin/numatune", "run", "--", "python", "x.py"])
    assert not places_its_own(["torchrun", "-n", "4", "numatune.py", "run"])


def environment(folder: Path, files: dict[str, str], *, numactl: bool) -> str:
    """A virtual environment in small; its PATH."""
    programs, packages = folder / "bin", folder / "lib/python3.12/site-packages"
    programs.mkdir(parents=True)
    packages.mkdir(parents=True)
    (programs / "python3").symlink_to(sys.executable)
    for name in ("vllm", "sglang", "trtllm-serve", "trtllm-llmapi-launch", "torchrun", "deepspeed"):
        (programs / name).write_text(f"#!{programs}/python3\n")
        (programs / name).chmod(0o755)
    for path, text in files.items():
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).write_text(text)
    if numactl:
        (programs / "numactl").write_text("#!/bin/sh\n")
        (programs / "numactl").chmod(0o755)
    return str(programs)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["tells"]) for case in CASES])
def test_what_an_engine_is_told(case: dict[str, Any], tmp_path: Path):
    shape = {
        "nodes": {0: "0-7", 1: "8-15"},
        "l3": ["0-3", "4-7", "8-11", "12-15"],
        "devices": {"10:00.0": 0, "20:00.0": -1 if case.get("lost") else 0, "30:00.0": 1, "40:00.0": 1},
    }
    topology = shaped(shape)
    accelerators = given(topology, shape)
    path = environment(tmp_path, case.get("files", {}), numactl=case.get("numactl", True))
    names = {"PATH": path, **case.get("environment", {})}
    at = api.Scene(
        topology, Found(accelerators), visible(names, accelerators), topology.cpus.online, CpuSet([0, 1]), names
    )
    policy, rank = policy_of(case.get("policy", {})), case.get("rank")
    made = api.placement(at, policy, Rank(rank, 4 if rank is not None else None))
    name = engine(case["command"])
    told = api.engine_words(at, policy, made, case["command"], name, named=case.get("named", False))
    assert list(told.words) == case["words"]
    assert dict(told.env) == case.get("env", {})
    assert told.at == case.get("at")
    for text in case.get("said", ()):
        assert any(text in step.reason for step in told.steps)
    warnings = " ".join(step.reason for step in told.steps if step.warns)
    assert all(text in warnings for text in case.get("warns", ()))
    assert bool(warnings) == bool(case.get("warns"))
    assert told.command(case["command"]) != case["command"] or not told.words


@pytest.mark.parametrize(
    "first",
    [
        "#!{python}\n",
        "#!/usr/bin/env python3\n",
        "#!/usr/bin/env -S python3 -u\n",
        "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_the_python_of_a_script(first: str, tmp_path: Path):
    path = environment(tmp_path, {"vllm-0.9.1.dist-info/METADATA": "", "vllm/x.py": "text"}, numactl=False)
    script = tmp_path / "bin/vllm"
    script.write_text(first.format(python=f"{path}/python3"))
    found = installed.beside(["vllm"], {"PATH": f"{path}:/usr/bin"})
    assert found.version("vllm") == "0.9.1"
    assert found.says("vllm/x.py", "text")
    assert not found.says("vllm/y.py", "text")
    assert found.version("sglang") == ""


@pytest.mark.parametrize("text", ["", "\x7fELF", "#!/bin/bash\n", "#!\n"])
def test_what_runs_on_no_python_tells_nothing(text: str, tmp_path: Path):
    script = tmp_path / "vllm"
    script.write_text(text)
    script.chmod(0o755)
    assert installed.beside(["vllm"], {"PATH": str(tmp_path)}).folders == ()
    assert installed.beside(["nowhere"], {"PATH": str(tmp_path)}).folders == ()


def test_a_launcher_that_forks_hands_on_what_it_was_given(tmp_path: Path):
    """numatune before trtllm-llmapi-launch places what it starts; behind it, it would place rank 0 alone."""
    script = tmp_path / "trtllm-llmapi-launch"
    script.write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.stdout.flush()\n"
        "if os.fork(): os.wait()\n"
        "told = os.environ['TLLM_NUMA_AWARE_WORKER_AFFINITY']\n"
        "print(sorted(os.sched_getaffinity(0)), told, sys.argv[1:], flush=True)\n"
    )
    script.chmod(0o755)
    ran = numatune(
        "run", "--cpus", str(CPUS[-1]), "--rank", "0", "--local-size", "1", "--", str(script), "python", "x.py"
    )
    assert ran.stdout == f"[{CPUS[-1]}] 0 ['python', 'x.py']\n" * 2


def test_print_shows_what_an_engine_would_be_told():
    ran = numatune("run", "--print", "--json", "--", "trtllm-serve", "model")
    assert '"command": [' in ran.stdout
    assert "TLLM_NUMA_AWARE_WORKER_AFFINITY" in ran.stdout
    assert "TLLM" not in numatune("run", "--engine", "none", "--print", "--json", "--", "trtllm-serve", "m").stdout
    ran = numatune("run", "--engine", "vlm", "--", "true")
    assert (ran.returncode, ran.stderr.count("accepted: vllm, sglang")) == (64, 1)
