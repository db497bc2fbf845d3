"""Control groups that somebody else manages: their owner writes them again at its next start, task or pod.

What a person wants there is set in the owner's own configuration, which `owner_of` names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """Who writes this cgroup, and where its settings are."""

    name: str
    use: str


_KUBELET = Owner(
    "kubelet",
    "use cpuManagerPolicy, memoryManagerPolicy and reservedSystemCPUs of the kubelet's configuration",
)
_SLURM = Owner("Slurm", "use TaskPlugin and CpuSpecList of slurm.conf and ConstrainCores of cgroup.conf")
_DOCKER = Owner("Docker", "use docker run --cpuset-cpus, --cpuset-mems and --memory")
_PODMAN = Owner("Podman", "use podman run --cpuset-cpus, --cpuset-mems and --memory")
_CRIO = Owner("CRI-O", "use the pod's resources and the kubelet's cpuManagerPolicy, or infra_ctr_cpuset of crio.conf")
_CONTAINERD = Owner(
    "containerd", "use the pod's resources and the kubelet's cpuManagerPolicy, or nerdctl run --cpuset-cpus"
)
_LIBVIRT = Owner("libvirt", "use <cputune>, <numatune> and <memtune> of the domain")
_MACHINED = Owner("libvirt or systemd-machined", "use <cputune> of the domain, or AllowedCPUs= of the .nspawn unit")
_LXC = Owner("LXC or Incus", "use limits.cpu, limits.cpu.nodes or lxc.cgroup2.cpuset.cpus of the container")

_OWNERS: tuple[tuple[re.Pattern[str], Owner], ...] = tuple(
    (re.compile(pattern), owner)
    for pattern, owner in (
        (r"kubepods([-.].*)?|kubelet(\.slice)?", _KUBELET),
        (r"crio([-_].*)?\.scope|crio-.*", _CRIO),
        (r"cri-containerd-.*|containerd(-.*\.scope)?|k8s\.io|nerdctl-.*", _CONTAINERD),
        (r"docker|docker\.slice|docker-.*\.scope|system\.slice:docker:.*", _DOCKER),
        (r"libpod(_parent)?|libpod[-_].*|libpod\.slice|podman-.*", _PODMAN),
        (r"slurm|slurm\.slice|slurmd([-_.].*)?|slurmstepd([-_.].*)?", _SLURM),
        (r"libvirt|libvirt-.*|.*\.libvirt-(qemu|lxc)|machine-(qemu|lxc|ch).*\.scope", _LIBVIRT),
        (r"machine|machine\.slice|machine-.*", _MACHINED),
        (r"lxc|lxc[-.](payload|monitor).*|lxc\.slice|incus.*", _LXC),
    )
)
"""Names as these programs give them to one component of a cgroup's path; the first that matches counts."""


def owner_of(path: str) -> Owner | None:
    """Whoever manages the cgroup or unit `path`, looking at each part of it from the top; None: nobody known."""
    for part in path.strip("/").split("/"):
        for pattern, owner in _OWNERS:
            if pattern.fullmatch(part):
                return owner
    return None
