"""Which accelerators running processes drive, by the device files that they have open, and what their cpuset allows.

Of a process the names and numbers of what it has open are looked at, nothing is opened. A container's files may have
other names than here (``--device /dev/nvidia3:/dev/nvidia0``), the numbers are the host's. A process that has ended, or
that only its user or root may look at, is left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from numatune.cpus import CpuSet
from numatune.launch.visible import Accelerator
from numatune.launch.worker import Worker

_V1 = "cpuset"
_STARTED = 19
"""The place of starttime behind the name of the process (proc_pid_stat(5))."""


@dataclass(frozen=True, slots=True)
class File:
    """A device file. `number`: its major and minor in one, as stat(2) has them; None where there is no such file."""

    path: str
    number: int | None

    @property
    def kind(self) -> str:
        """Its path without the figure at its end."""
        return self.path.rstrip("0123456789")

    def is_among(self, seen: Collection[File]) -> bool:
        """Whether one of these is the same device."""
        return any(
            one.path == self.path if self.number is None else (one.number, one.kind) == (self.number, self.kind)
            for one in seen
        )


def workers(accelerators: Sequence[Accelerator], proc: str = "/proc", groups: str = "/sys/fs/cgroup") -> list[Worker]:
    """All processes that may be looked at, by number."""
    files = {one: File(path, _number(path)) for one in accelerators if (path := f"/dev/{one.file}") != "/dev/"}
    pids = sorted(int(name) for name in os.listdir(proc) if name.isdigit())  # noqa: PTH208  # pathlib costs a start-up
    return [one for pid in pids if (one := _worker(f"{proc}/{pid}", pid, files, groups))]


def started(pid: int, proc: str = "/proc") -> str:
    """When a process was started, "" when there is none."""
    return _born(_text(f"{proc}/{pid}/stat"))[1]


def allowed(pid: int, thread: int, proc: str = "/proc") -> CpuSet | None:
    """CPUs that a thread may run on now; None when it has ended."""
    return _list(_text(f"{proc}/{pid}/task/{thread}/status"), "Cpus_allowed_list:")


def threads(pid: int, proc: str = "/proc") -> list[int]:
    """Its threads by number."""
    try:
        return sorted(map(int, os.listdir(f"{proc}/{pid}/task")))  # noqa: PTH208  # as above
    except OSError:
        return []


def _worker(base: str, pid: int, files: Mapping[Accelerator, File], groups: str) -> Worker | None:
    parent, born = _born(_text(f"{base}/stat"))
    try:
        seen = set(_open(f"{base}/fd"))
    except OSError:
        return None
    return Worker(
        pid=pid,
        parent=parent,
        started=born,
        opened=tuple(one for one, file in files.items() if file.is_among(seen)),
        cpus=_cpuset(_text(f"{base}/cgroup"), groups),
        mems=_list(_text(f"{base}/status"), "Mems_allowed_list:"),
    )


def _open(folder: str) -> Iterator[File]:
    """The device files among what is open."""
    for name in os.listdir(folder):  # noqa: PTH208  # as above
        with suppress(OSError):  # closed meanwhile
            path = os.readlink(f"{folder}/{name}")  # noqa: PTH115  # as above
            if path.startswith("/dev/") and (number := _number(f"{folder}/{name}")) is not None:
                yield File(path, number)


def _number(path: str) -> int | None:
    try:
        found = os.stat(path)  # noqa: PTH116  # as above
    except OSError:
        return None
    return found.st_rdev if stat.S_ISCHR(found.st_mode) else None


def _cpuset(told: str, groups: str) -> CpuSet | None:
    """From /proc/PID/cgroup to the nearest group that has a cpuset: that of cgroup2, or of the hierarchy of v1."""
    for line in told.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if ".." in path.split("/") or (controllers and _V1 not in controllers.split(",")):
            continue
        base, file = (f"{groups}/{_V1}", "cpuset.effective_cpus") if controllers else (groups, "cpuset.cpus.effective")
        while True:
            text = _text(f"{base}{path.rstrip('/')}/{file}").strip()
            if text:
                return CpuSet.parse(text)
            if path in {"", "/"}:
                break
            path = path.rpartition("/")[0]
    return None


def _born(told: str) -> tuple[int, str]:
    """(parent, start) of /proc/PID/stat; the name in it may hold blanks and brackets."""
    words = told.rpartition(")")[2].split()
    return (int(words[1]), words[_STARTED]) if len(words) > _STARTED else (0, "")


def _list(told: str, key: str) -> CpuSet | None:
    found = (line.partition(":")[2] for line in told.splitlines() if line.startswith(key))
    text = next(found, None)
    return None if text is None else CpuSet.parse(text)


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123  # as above
            return file.read()
    except OSError:
        return ""
