"""Programs that read what export-launch prints, as `make test` unpacks them: some would be started if installed."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

UNPACKED = Path(__file__).parents[2] / ".build/readers"
USR = UNPACKED / "usr"
MISSING = "is not there: make test unpacks it"

_SLURM = """
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort=1
AuthType=auth/munge
TaskPlugin=task/affinity
NodeName=localhost CPUs=1
PartitionName=p Nodes=ALL Default=YES
MessageTimeout=2
SlurmctldTimeout=2
"""


def ran(command: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A reader, without this process's environment."""
    given = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=given, cwd="/")


def _runs(program: Path, env: Mapping[str, str], start: Sequence[str] = ()) -> None:
    """Skips where a program does not start unpacked, as one whose libraries have other names in another Debian."""
    told = ran([*start, str(program), "--version"], env)
    if told.returncode:
        pytest.skip(f"{program.name} does not start unpacked here: {told.stderr.strip()}")


def compose(file: Path) -> subprocess.CompletedProcess[str]:
    """``docker-compose config``: the program of Debian 13, the Python one of Debian 12."""
    for program in ("libexec/docker/cli-plugins/docker-compose", "bin/docker-compose"):
        path = USR / program
        if path.is_file():
            script = path.read_bytes().startswith(b"#!")
            packages = [USR / "lib/python3/dist-packages", *sorted((USR / "lib").glob("python3.*"))]
            env = {"PYTHONPATH": os.pathsep.join(map(str, packages))} if script else {}
            start = ["/usr/bin/python3"] if script else []
            _runs(path, env, start)
            return ran([*start, str(path), "-f", str(file), "config"], env)
    pytest.skip(f"docker-compose {MISSING}")


def quadlet(folder: Path) -> subprocess.CompletedProcess[str]:
    """``quadlet -dryrun`` on a folder of its files: podman 4.4 and later have it."""
    program = USR / "libexec/podman/quadlet"
    if not program.is_file():
        pytest.skip(f"podman's quadlet {MISSING}")
    return ran([str(program), "-dryrun"], {"QUADLET_UNIT_DIRS": str(folder)})


def srun(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """srun reads its whole line before it looks for a controller, which is not there."""
    program = USR / "bin/srun"
    plugins = next(USR.glob("lib/*/slurm-wlm"), None)
    if not program.is_file() or plugins is None:
        pytest.skip(f"srun {MISSING}")
    configuration = folder / "slurm.conf"
    configuration.write_text(f"PluginDir={plugins}{_SLURM}")
    env = {"SLURM_CONF": str(configuration), "LD_LIBRARY_PATH": f"{plugins}:{plugins.parent}"}
    _runs(program, env)
    return ran([str(program), *words], env)


def mpirun(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Open MPI's mpirun maps the processes and starts none; of its version 5 it is prterun."""
    program = next((path for name in ("mpirun.openmpi", "prterun") if (path := USR / "bin" / name).exists()), None)
    libraries = next(USR.glob("lib/*-linux-gnu"), None)
    if program is None or libraries is None:
        pytest.skip(f"mpirun {MISSING}")
    paths = f"{libraries}:{libraries}/openmpi/lib:{libraries}/pmix2/lib"
    env = {"LD_LIBRARY_PATH": paths, "OPAL_PREFIX": str(USR), "PRTE_PREFIX": str(USR), "PMIX_PREFIX": str(USR)}
    _runs(program, env)
    show = ["--allow-run-as-root", "--host", "localhost:64", "--display-map", "--do-not-launch"]
    return ran([str(program), *show, *words], env)


def kubernetes(name: str) -> tuple[dict[str, Any], Registry[Any]]:
    """A strict schema of the newest version that the package has, and where its references lead."""
    wheels = sorted(UNPACKED.glob("kubernetes_validate-*.whl"))
    if not wheels:
        pytest.skip(f"kubernetes-validate {MISSING}")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        ends = f"-local-strict/{name}.json"
        found = [path for path in wheel.namelist() if path.endswith(ends)]
        newest = max(found, key=lambda path: [int(part) for part in path.split("/v")[-1].split("-")[0].split(".")])
        schema: dict[str, Any] = json.loads(wheel.read(newest))
        definitions = json.loads(wheel.read(newest.replace(f"{name}.json", "_definitions.json")))
    return schema, Registry().with_resource(definitions["$id"], DRAFT202012.create_resource(definitions))
