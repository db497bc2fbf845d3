"""Which local rank this process has, from what its launchers put into the environment. Pure.

Names and meanings: PyTorch's torchrun (LOCAL_RANK, LOCAL_WORLD_SIZE), DeepSpeed (LOCAL_SIZE), srun(1), Open MPI 5's
manual, Intel MPI and MPICH's Hydra, MVAPICH2, HPE's pals.h, Flux.

Launchers nest: srun starts one torchrun a host, which starts eight workers that inherit SLURM_LOCALID=0. The innermost
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numatune.launch.step import Step

Environment = Mapping[str, str]


class RankError(ValueError):
    """Launchers disagree about the rank, and nothing tells which of them is the inner one."""


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank among the processes that one launcher started on this host.

    rank   None without a launcher: the process is alone
    size   how many there are; None when nobody says
    named  the variable that said so, or the option
    alone  its launcher started no other one here and, unlike LOCAL_RANK, its rank does not stand for a device
    """

    rank: int | None = None
    size: int | None = None
    named: str = ""
    alone: bool = False
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    name: str
    rank: int
    size: int | None


def local_rank(environment: Environment, *, strict: bool = False) -> Rank:
    """The rank that the innermost launcher gave.

    A variable whose own local size is 1 is ignored beside one that is larger; then the order of the list counts. Raises
    RankError when two of one size disagree; when `strict`, also when one that disagrees would be ignored.
    """
    said, steps = _said(environment)
    if not said:
        return Rank(steps=tuple(steps))
    larger = any(one.size is not None and one.size > 1 for one in said)
    inner = [one for one in said if not (larger and one.size == 1)]
    chosen = inner[0]
    for other in said:
        if other.rank == chosen.rank:
            continue
        told = f"{chosen.name}={chosen.rank}{_of(chosen)} and {other.name}={other.rank}{_of(other)} disagree"
        if strict or (other.size is not None and other.size == chosen.size):
            raise RankError(f"{told}; --rank says which one counts")
        why = "it is one process here, of an outer launcher" if other not in inner else f"{chosen.name} goes before"
        steps.append(Step("rank", f"{other.name}={other.rank} ignored", why))
    alone = chosen.size == 1 and chosen.name != "LOCAL_RANK"
    why = "the only one that its launcher started here: it drives all devices" if alone else ""
    steps.append(Step("rank", f"{chosen.rank}{_of(chosen)}", f"{chosen.name}{'; ' if why else ''}{why}"))
    return Rank(chosen.rank, chosen.size, chosen.name, alone, tuple(steps))


def _of(one: _Said) -> str:
    return f" of {one.size}" if one.size is not None else ""


def _said(environment: Environment) -> tuple[list[_Said], list[Step]]:
    """What each launcher says, in the order that counts; and what is no answer."""
    said: list[_Said] = []
    steps: list[Step] = []
    for name, size_of in _VARIABLES.items():
        text = environment.get(name)
        if text is None or text == "":
            continue
        rank, size = _number(text), size_of(environment)
        if rank is None:
            steps.append(Step("rank", f"{name}={text} ignored", "it is no number"))
        elif name == "SLURM_LOCALID" and _batch_script(environment):
            steps.append(Step("rank", f"{name}={text} ignored", "a batch script is no task: Slurm sets no step here"))
        else:
            said.append(_Said(name, rank, size if size is not None and size > rank else None))
    return said, steps


def _batch_script(environment: Environment) -> bool:
    """Slurm gives a batch script, and all that mpirun starts from it, SLURM_LOCALID=0 but no variables of a step."""
    step = ("SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE")
    return "SLURM_JOB_ID" in environment and not any(name in environment for name in step)


def _number(text: str | None) -> int | None:
    stripped = (text or "").strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() else None


def _first(*names: str) -> Callable[[Environment], int | None]:
    def size(environment: Environment) -> int | None:
        return next((number for name in names if (number := _number(environment.get(name)))), None)

    return size


def _slurm(environment: Environment) -> int | None:
    """Tasks of this step on this host: ``8(x2),4`` counts for hosts 0, 1 and 2, of which this is SLURM_NODEID."""
    text = environment.get("SLURM_STEP_TASKS_PER_NODE")
    if text is None:
        return _number((environment.get("SLURM_NTASKS_PER_NODE") or "").partition("(")[0])
    host, counts = _number(environment.get("SLURM_NODEID")), list[int]()
    for part in text.split(","):
        tasks, _, times = part.partition("(x")
        number, repeat = _number(tasks), _number(times.rstrip(")")) if times else 1
        if number is None or repeat is None:
            return None
        if len(counts) <= (host or 0):
            counts += [number] * min(repeat, 1 << 16)
    if host is None:
        return counts[0] if len(set(counts)) == 1 and "," not in text else None
    return counts[host] if host < len(counts) else None


def _flux(environment: Environment) -> int | None:
    """Flux tells tasks and hosts of the job, not tasks of a host: only an even spread is an answer."""
    tasks, hosts = _number(environment.get("FLUX_JOB_SIZE")), _number(environment.get("FLUX_JOB_NNODES"))
    return tasks // hosts if tasks and hosts and tasks % hosts == 0 else None


_VARIABLES: Mapping[str, Callable[[Environment], int | None]] = {
    "LOCAL_RANK": _first("LOCAL_WORLD_SIZE", "LOCAL_SIZE"),
    "SLURM_LOCALID": _slurm,
    "OMPI_COMM_WORLD_LOCAL_RANK": _first("OMPI_COMM_WORLD_LOCAL_SIZE"),
    "MPI_LOCALRANKID": _first("MPI_LOCALNRANKS"),
    "MV2_COMM_WORLD_LOCAL_RANK": _first("MV2_COMM_WORLD_LOCAL_SIZE"),
    "PALS_LOCAL_RANKID": _first("PALS_LOCAL_SIZE"),
    "FLUX_TASK_LOCAL_ID": _flux,
}
"""Rank -> how its launcher tells the number of ranks here, in the order in which they count."""
