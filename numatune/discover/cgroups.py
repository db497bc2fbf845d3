"""Control groups: which hierarchy has cpuset, and where it is mounted."""

from __future__ import annotations

import re
from typing import Literal

from numatune.discover.read import text
from numatune.host.protocol import Reader
from numatune.topology.model import CgroupMode, Cgroups

_TOP = "/sys/fs/cgroup"
_V1 = frozenset({
    "blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory",
    "misc", "net_cls", "net_prio", "perf_event", "pids", "rdma",
})  # fmt: skip
_OCTAL = re.compile(r"\\([0-7]{3})")


def cgroups(reader: Reader) -> Cgroups:
    """What is mounted. A container of `--root-is-live` has its own mounts: those of process 1 are the host's."""
    mounts = text(reader, "/proc/1/mounts", "/proc/self/mounts", "/proc/mounts") or ""
    v1, v2 = _mounted(reader, mounts)
    if not v1 and not v2:
        v1, v2 = _looked_up(reader)
    unified = frozenset((text(reader, f"{v2}/cgroup.controllers") or "").split()) if v2 else frozenset[str]()
    mode: CgroupMode = ("hybrid" if v2 else "v1") if v1 else "v2" if v2 else "none"
    version: Literal[1, 2] | None = 2 if "cpuset" in unified else 1 if "cpuset" in v1 else None
    return Cgroups(
        mode=mode,
        version=version,
        cpuset_root=v2 if version == 2 else v1.get("cpuset", ""),  # noqa: PLR2004  # cgroup v2
        memory_root=v2 if "memory" in unified else v1.get("memory", ""),
        memory_version=2 if "memory" in unified else 1 if "memory" in v1 else None,
        controllers=tuple(sorted(unified | v1.keys())),
    )


def _mounted(reader: Reader, mounts: str) -> tuple[dict[str, str], str]:
    """({controller: v1 mount point}, v2 mount point), of mounts that this tree shows too."""
    v1: dict[str, str] = {}
    v2 = ""
    for line in mounts.splitlines():
        words = line.split()
        if len(words) < 4 or words[2] not in {"cgroup", "cgroup2"}:  # noqa: PLR2004  # device, point, type, options
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), words[1])
        if not reader.names(point):
            continue
        if words[2] == "cgroup2":
            v2 = v2 or point
        for controller in _V1.intersection(words[3].split(",")) if words[2] == "cgroup" else ():
            v1.setdefault(controller, point)
    return v1, v2


def _looked_up(reader: Reader) -> tuple[dict[str, str], str]:
    """The same by looking where every distribution mounts them, for trees without /proc/mounts."""
    v2 = next((top for top in (_TOP, f"{_TOP}/unified") if reader.stat(f"{top}/cgroup.controllers")), "")
    found = {} if v2 == _TOP else {name: f"{_TOP}/{name}" for name in reader.names(_TOP) if name in _V1}
    return found, v2
