"""Lines of srun, mpirun and numactl.

The portable form first: numatune on every host finds each rank's place there. Masks of CPUs are of this host, for hosts
that are like it. srun(1): they hold only where the step has every CPU of the host; rank_ldom goes by task and not by
device, and is empty at nodes without CPUs. mpirun's own maps are by core and by object, not by device.
"""

from __future__ import annotations

from collections.abc import Sequence

from numatune.export.launch.job import Job
from numatune.launch.model import Placement

_RUN = "numatune run -- CMD"


def slurm(job: Job) -> str:
    """srun, by numatune; with `same_hosts` also by its own maps."""
    count = len(job.ranks)
    lines = [f"srun --ntasks-per-node={count} --cpu-bind=none --mem-bind=none {_RUN}"]
    if job.same_hosts:
        masks = ",".join(f"0x{one.cpus.bits:x}" for one in job.ranks)
        lines += [
            "# where every host is like this one, each has a whole host (--exclusive), and TaskPlugin=task/affinity"
        ]
        lines += [f"srun --exclusive --ntasks-per-node={count} --cpu-bind=mask_cpu:{masks} CMD"]
    return "".join(f"{line}\n" for line in lines)


def mpirun(job: Job) -> str:
    """Open MPI's mpirun, by numatune. Its own binding, which is by core, is off."""
    lines = [f"mpirun --map-by ppr:{len(job.ranks)}:node --bind-to none {_RUN}"]
    if job.same_hosts:
        lines += ["# its own maps go by cores and objects of a host, never by devices: none of them says the same"]
    return "".join(f"{line}\n" for line in lines)


def numactl(job: Job) -> str:
    """One line for each rank, or for the whole."""
    ranks: Sequence[Placement] = job.ranks if len(job.ranks) > 1 else (job.whole,)
    lines = [f"numactl {' '.join(_options(one))} CMD".replace("  ", " ") for one in ranks]
    return "".join(f"{line}\n" for line in lines)


def _options(one: Placement) -> list[str]:
    """numactl(8): --preferred takes one node, --preferred-many several; --weighted-interleave came with 2.0.19."""
    cpus = [f"--physcpubind={one.cpus}"] if one.bound else []
    nodes = one.memory.nodes
    match one.memory.mode:
        case "none":
            return cpus
        case "local":
            return [*cpus, "--localalloc"]
        case "bind":
            return [*cpus, f"--membind={nodes}"]
        case mode:
            return [*cpus, f"--{mode}={nodes}"]
