"""A start that is like any other, from the table that apply worked out: see compiled.py. Imports next to nothing.

Whatever is not plain (another launcher than torchrun, UUIDs, a cpuset that is no scope, a refusal of the kernel) is
left to the long way, with everything as it was: `start` then answers None.
"""

from __future__ import annotations

import os

from numatune import mempolicy
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "/etc/numatune/launch"
"""Where apply puts a policy for `run`, and the table behind it: neither JSON nor YAML is read before a server."""

TABLE = "--\n"
"""The line of the policy's file after which the table comes."""

_NVIDIA = "/proc/driver/nvidia/gpus"
_LAUNCHERS = (
    "SLURM_LOCALID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
)
_OTHERS_WRITE, _LINK = 0o022, 0o120000


def start(path: str, environment: Mapping[bytes, bytes]) -> dict[str, str] | None:
    """Bind this process by the table in a file; the variables to add. None: nothing was changed."""
    names = {os.fsdecode(name): os.fsdecode(text) for name, text in environment.items()}
    if names.get("NUMATUNE_STATE_DIR") or any(name in names for name in _LAUNCHERS) or not _trusted(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib costs a start-up
            table = file.read().partition(TABLE)[2].splitlines()
        before = os.sched_getaffinity(0)
        found = _entry(table, names, sum(1 << cpu for cpu in before))
    except (OSError, ValueError):
        return None
    if found is None:
        return None
    (name, cpus, mode, nodes, told), variables = found
    if not _bound(cpus, mode, _members(int(nodes, 16)), before):
        return None
    added = {variable: text for variable, _, text in (one.partition("=") for one in variables) if variable not in names}
    if name != "all":
        format_, _, rest = told.partition(" ")
        told = f"{format_} rank={int(names['LOCAL_RANK'])} {rest}"
    return {**added, "NUMATUNE_PLACEMENT": told}


def _entry(table: list[str], names: Mapping[str, str], cpus: int) -> tuple[list[str], list[str]] | None:
    """The line that holds for this process, and its variables."""
    if not table or table[0].split()[:1] != ["devices"]:
        return None
    devices = table[0].split()[1:]
    key = _key(names, devices)
    if key is None or not _given(devices):
        return None
    scope = f"scope {cpus:x} {_mems()}"
    if scope not in table:
        return None
    if key != "all" and "CUDA_VISIBLE_DEVICES" in names and table.index(scope) != 1:
        return None  # in a cpuset the devices in sight are what it is split between
    here = table[table.index(scope) + 1 :]
    end = next((place for place, line in enumerate(here) if line.startswith("scope ")), len(here))
    for place, line in enumerate(here[:end]):
        if line.startswith(f"{key} "):
            rest = here[place + 1 : end]
            stop = next((index for index, each in enumerate(rest) if not each.startswith("+ ")), len(rest))
            return line.split(" ", 4), [each[2:] for each in rest[:stop]]
    return None


def _key(names: Mapping[str, str], devices: list[str]) -> str | None:
    """``all`` without a rank, else the number of the device that the rank takes; None: not plain."""
    rank, visible = names.get("LOCAL_RANK"), names.get("CUDA_VISIBLE_DEVICES")
    if rank is None:
        return "all" if visible is None else None
    if not (rank.isascii() and rank.isdigit()):
        return None
    if visible is None:
        return rank if len(devices) > 1 else None
    indexes = visible.split(",")
    plain = all(one.isascii() and one.isdigit() and int(one) < len(devices) for one in indexes)
    if not plain or len(set(map(int, indexes))) < len(indexes) or int(rank) >= len(indexes) or len(indexes) == 1:
        return None
    return str(int(indexes[int(rank)]))


def _given(devices: list[str]) -> bool:
    """Whether the driver lists these devices, and this process may open that many."""
    try:
        listed = os.listdir(_NVIDIA)  # noqa: PTH208  # as above
    except OSError:
        listed = []
    if sorted(listed) != sorted(devices):
        return False
    return all(os.access(f"/dev/nvidia{minor}", os.R_OK | os.W_OK) for minor in range(len(devices)))


def _mems() -> str:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123  # as above
        for line in file:
            if line.startswith("Mems_allowed_list:"):
                return line.partition(":")[2].strip()
    return ""


def _bound(cpus: str, mode: str, nodes: list[int], before: set[int]) -> bool:
    """Bind, and read back. False: all is as it was."""
    try:
        policy = mempolicy.of_task()
    except (OSError, ValueError):
        return False
    try:
        if mode != "none":
            mempolicy.set_task(mode, nodes)
        if cpus != "-":
            os.sched_setaffinity(0, _members(int(cpus, 16)))
        held = sum(1 << cpu for cpu in os.sched_getaffinity(0))
        if cpus in ("-", f"{held:x}") and (mode == "none" or mempolicy.of_task() == mempolicy.InForce(mode, nodes)):
            return True
    except (OSError, ValueError):
        pass
    _give_back(policy, before)
    return False


def _give_back(policy: mempolicy.InForce, before: set[int]) -> None:
    """What this process had. A call that is refused now was refused before, and has changed nothing."""
    try:  # noqa: SIM105  # contextlib costs a start-up
        mempolicy.set_task(policy.mode, policy.nodes)
    except OSError:
        pass
    try:  # noqa: SIM105  # as above
        os.sched_setaffinity(0, before)
    except OSError:
        pass


def _members(bits: int) -> list[int]:
    return [place for place in range(bits.bit_length()) if bits >> place & 1]


def _trusted(path: str) -> bool:
    """Whether root or the caller alone can have written the file: it and the folders on the way, and no link."""
    owners, at = {0, os.geteuid()}, path
    while True:
        try:
            found = os.lstat(at)
        except OSError:
            return False
        if found.st_uid not in owners or found.st_mode & _OTHERS_WRITE or found.st_mode & _LINK == _LINK:
            return False
        if at == "/":
            return True
        at = at.rpartition("/")[0] or "/"
