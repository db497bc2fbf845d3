"""Every format there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numatune.export.launch import containers, engines, kubelet, launchers, units
from numatune.export.launch.job import Job

FORMATS: Mapping[str, Callable[[Job], str]] = {
    "docker": containers.docker,
    "compose": containers.compose,
    "podman-quadlet": containers.quadlet,
    "kubelet": kubelet.kubelet,
    "systemd": units.systemd,
    "slurm": launchers.slurm,
    "mpirun": launchers.mpirun,
    "numactl": launchers.numactl,
    "vllm": engines.vllm,
    "sglang": engines.sglang,
    "torchrun": engines.torchrun,
}
