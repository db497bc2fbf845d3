"""A host in a few words."""

from __future__ import annotations

from numatune.topology.memory import total_memory
from numatune.topology.model import Topology
from numatune.views.sizes import memory
from numatune.views.style import plural


def headline(found: Topology) -> str:
    """``2 packages, 2 nodes, 64 cores, 128 CPUs, 503.6 GiB``; what is not known is left out."""
    cpus, size = found.cpus, total_memory(found)
    told = [
        plural(len(cpus.packages), "package") if cpus.packages else "",
        plural(len(found.nodes), "node") if found.nodes else "no NUMA nodes",
        plural(len(cpus.cores), "core") if cpus.cores else "",
        plural(len(cpus.online), "CPU"),
        memory(size) if size else "",
    ]
    return ", ".join(word for word in told if word)


def system(found: Topology) -> list[str]:
    """Kernel, architecture, distribution, what it runs on."""
    machine = found.machine
    virt = {"": "", "none": "bare metal"}.get(machine.virt, f"virtual ({machine.virt})")
    told = [f"Linux {machine.kernel}" if machine.kernel else "", machine.arch, machine.distribution, virt]
    return [word for word in told if word]


def threads(found: Topology) -> str:
    """How the siblings of a core are numbered: ``2 threads a core: N/N+64``; "" where cores have one."""
    cores = found.cpus.cores
    most = max((len(core.cpus) for core in cores), default=0)
    if most < 2:  # noqa: PLR2004  # siblings are two and more
        return ""
    fewer = sum(len(core.cpus) < most for core in cores)
    steps = {tuple(cpu - core.cpus.first for cpu in core.cpus) for core in cores if len(core.cpus) == most}
    told = f"{most} threads a core"
    if len(steps) == 1:
        (step,) = steps
        told += ": N/" + "/".join(f"N+{away}" for away in step[1:])
    return f"{told} ({fewer} with fewer)" if fewer else told


def marked(found: Topology) -> list[tuple[str, str]]:
    """CPUs that something is to be known of: (what, which)."""
    cpus = found.cpus
    told = (("offline", cpus.offline), ("isolated", cpus.isolated), ("nohz_full", cpus.nohz_full))
    return [(name, str(some)) for name, some in told if some]
