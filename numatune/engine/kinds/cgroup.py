"""A cgroup directory: there or not, and who lives in it."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping

from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import CpuList
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import Cgroup, KernelFile

_MOST = 12
"""Populated cgroups named; more are counted."""

_PIDS = 3
"""Processes named of each; more are counted."""


_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "cpuset": {"cpuset.cpus": "", "cpuset.mems": ""},
    "memory": {"memory.max": "max", "memory.high": "max", "memory.min": "0", "memory.low": "0"},
}
"""Files of a controller, and what they say where nobody has set them."""

REFUSALS: Mapping[int, tuple[Status, str]] = {
    errno.ENOENT: (Status.UNSUPPORTED, "the group is not there, or its parent does not hand the controller on"),
    errno.EACCES: (Status.DENIED, "this is not root, or (v1) the group around it has not all of these"),
    errno.EINVAL: (Status.FAILED, "the kernel knows no such CPU, node or word"),
    errno.ERANGE: (Status.FAILED, "the list names a CPU or node beyond those that this kernel can have"),
    errno.ENOSPC: (Status.FAILED, "tasks are inside, so it cannot be emptied"),
    errno.EBUSY: (Status.FAILED, "groups or processes inside still use it"),
    errno.EOPNOTSUPP: (Status.FAILED, "the group holds processes, so its children get no controllers"),
}
"""What a refused write to a cgroup means (Linux kernel/cgroup/cpuset.c, cpuset-v1.c)."""


def is_inside(target: Cgroup | KernelFile) -> bool:
    """Whether it is a cgroup, or a file of one."""
    if isinstance(target, Cgroup):
        return True
    return target.paths[0].rpartition("/")[2].startswith(("cgroup.", "cpuset.", "memory."))


def look(target: Cgroup, setting: Setting, reader: Reader) -> Observation:  # noqa: ARG001  # one signature for all kinds
    """Text "here", and the inode as identity. Where it is not there: whether the folder around it takes a new one."""
    state = reader.stat(target.path)
    if state is None:
        around = reader.stat(target.path.rpartition("/")[0])
        refusal = errno.EROFS if around is not None and around.read_only else 0
        return Observation(None, refusal or errno.ENOENT, target.path, writable=not refusal)
    return Observation("here", 0, target.path, str(state.inode))


def write(target: Cgroup, change: Change, host: Host) -> int:
    """Make the folder, or remove it when it is empty of cgroups and processes. 0 or the errno."""
    return host.drop(target.path) if change.action is Action.DELETE else host.make(target.path)


def still_used(where: str, text: str, reader: Reader) -> int:
    """EBUSY when `text` takes a controller away that some group below `where` (cgroup.subtree_control) has settings of.

    The kernel says that itself only when the group hands the controller on to others; else the settings were lost.
    """
    folder, _, name = where.rpartition("/")
    taken = [word[1:] for word in text.split() if word.startswith("-")] if name == "cgroup.subtree_control" else []
    for controller in taken:
        for group in reader.names(folder) if controller in _SETTINGS else ():
            for file, unset in _SETTINGS[controller].items():
                if (reader.read(f"{folder}/{group}/{file}").text or unset).strip() != unset:
                    return errno.EBUSY
    return 0


def hurt(setting: Setting, have: str, folder: str, reader: Reader) -> tuple[str, ...]:
    """Who in the cgroup `folder` feels the change from `have` to what is wanted, () when nobody does.

    More CPUs or memory hurt nobody; other memory nodes always do, because cgroup v2 moves pages at the write.
    """
    if setting.impact_in_use is None or setting.want is None or not _felt(setting, have, setting.want):
        return ()
    return users(folder, reader)


def _felt(setting: Setting, have: str, want: str) -> bool:
    try:
        grows = setting.codec.grows(have, want)
    except ValueError:
        return True
    if isinstance(setting.codec, CpuList) and grows is None:
        return False  # empty, and all that there is
    return not grows or setting.id.endswith("/mems")


def users(folder: str, reader: Reader) -> tuple[str, ...]:
    """Populated cgroups at and below `folder`, each with some of its processes, () when there are none.

    ``vllm.service (1234 python3, 1240 ray, 3 more)``: the unit or path, pids and their comm, nothing else of them.
    """
    if "populated 0" in (reader.read(f"{folder}/cgroup.events").text or ""):
        return ()
    found = list(_populated(folder, folder, reader))
    if len(found) > _MOST:
        return (*found[:_MOST], f"{len(found) - _MOST} more cgroups")
    return tuple(found)


def _populated(folder: str, top: str, reader: Reader) -> Iterator[str]:
    pids = (reader.read(f"{folder}/cgroup.procs").text or "").split()
    if pids:
        named = [f"{pid} {(reader.read(f'/proc/{pid}/comm').text or '?').strip()}" for pid in pids[:_PIDS]]
        if len(pids) > _PIDS:
            named.append(f"{len(pids) - _PIDS} more")
        yield f"{_name(folder, top)} ({', '.join(named)})"
    for name in reader.names(folder):
        if reader.names(f"{folder}/{name}"):
            yield from _populated(f"{folder}/{name}", top, reader)


def _name(folder: str, top: str) -> str:
    """The unit that a cgroup is, or lies in; else its path from the folder asked about."""
    for part in reversed(folder.split("/")):
        if part.endswith((".service", ".scope", ".slice")):
            return part
    return f"{top.rpartition('/')[2]}{folder.removeprefix(top)}"
