"""A policy for the shared memory of a server, from inside its container: as an option of the tmpfs at /dev/shm.

Files get the policy of their file system when they are made (mm/shmem.c), so that it is there before the server is, and
nobody has to stay and watch. It holds for all new files of the container, also for those of its other ranks, with which
NCCL and others meet there: that is why no rank gets a mount of its own. The kernel asks for CAP_SYS_ADMIN, which Docker
and podman do not give; who starts the container can mount it so instead.

On the host itself /dev/shm is everybody's and outlives the server: `shm:` in a profile does it there, and takes it
back. Not reached: files that are there already, memfd, System V, and anonymous shared memory, which are on a mount of
the kernel's own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.host import mounting
from numatune.host.local import LocalHost
from numatune.host.mounts import mounted

FOLDER = "/dev/shm"  # noqa: S108  # the mount itself

_INITIAL_IPC = 0xEFFFFFFF
"""The number of the host's IPC namespace (include/linux/proc_ns.h): a container that has another one has a /dev/shm of
its own, which the engines mount with it; under --ipc=host it has the host's."""

_INITIAL_PID = 0xEFFFFFFC
"""The same of PID namespaces: in this one process 1 is the host's."""

FIRST = f"/proc/1/root{FOLDER}"
"""The host's, where it can be looked at. Units with PrivateIPC=yes, and containers that have it as a volume, have IPC
namespaces of their own all the same."""


def interleave(nodes: CpuSet, say: Callable[[str], None], *, strict: bool = False) -> None:
    """Spread new files of this container's /dev/shm over nodes. Raises LaunchError for a refusal when `strict`."""
    wanted = f"interleave:{nodes}"
    before = mounted(LocalHost(), FOLDER)
    if before is not None and before.option("mpol") == wanted:
        return
    kind = "" if before is None else before.kind
    if problem := _hindrance(kind) or _changed(wanted):
        told = f"shm {wanted} refused: {problem}"
        if strict:
            raise LaunchError("", told, hint="strict allows nothing but what is asked for")
        say(told)


def _hindrance(kind: str) -> str:
    """Why it is not even tried, "" where it is."""
    if kind != "tmpfs":
        return f"{FOLDER} is {kind or 'no mount'}, and no tmpfs"
    if _namespace("ipc") == _INITIAL_IPC or _is_of_the_first_process():
        return f"{FOLDER} is the host's own, for all who run here; `shm:` in a profile gives it a policy"
    return ""


def _is_of_the_first_process() -> bool:
    if _namespace("pid") != _INITIAL_PID:
        return False
    try:
        return os.stat(FIRST).st_dev == os.stat(FOLDER).st_dev  # noqa: PTH116  # pathlib costs a start-up
    except OSError:
        return False


def _namespace(kind: str) -> int:
    return os.stat(f"/proc/self/ns/{kind}").st_ino  # noqa: PTH116  # as above


def _changed(wanted: str) -> str:
    """Set the option, and read it back; what is wrong, "" when it holds."""
    try:
        folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        return f"{FOLDER}: {error.strerror}"
    try:
        code = mounting.reconfigure(folder, "mpol", wanted)
    finally:
        os.close(folder)
    if code:
        return _told(code, wanted)
    after = mounted(LocalHost(), FOLDER)
    held = after.option("mpol") if after else None
    return "" if held == wanted else f"the kernel holds {held or 'no policy'}"


def _told(code: int, wanted: str) -> str:
    name = errno.errorcode.get(code, str(code))
    match code:
        case errno.EPERM | errno.EACCES:
            how = f"start the container with --tmpfs {FOLDER}:rw,mpol={wanted}, as export-launch prints it"
            return f"{name}: it takes CAP_SYS_ADMIN; {how}, or let `memory: interleave` hold for all of its memory"
        case errno.ENOSYS:
            return f"{name}: it takes Linux 5.4, or seccomp hides it"
        case errno.EINVAL:
            return f"{name}: none of the nodes has memory here, or this kernel has no memory policies"
        case _:
            return f"{name}: {os.strerror(code)}"
