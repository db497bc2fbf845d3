"""The proof after exec: what processes were to get against what they have, from /proc.

Of a process its pid, name, user, threads and our own variable are looked at, nothing else of its environment. One's own
processes need no root; others' are told as such. A process that ends meanwhile is left out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from numatune.cpus import CpuSet
from numatune.launch import numa_maps
from numatune.launch.carried import VARIABLE, Carried, read

_MARK = f"{VARIABLE}=".encode()
_FIRST_LINES = 4096
_JUDGED = frozenset({"preferred", "preferred-many", "bind", "interleave", "weighted-interleave"})
"""Policies that name nodes."""


@dataclass(frozen=True, slots=True)
class Thread:
    """CPUs that it may run on, and its memory policy, "" where it could not be read."""

    id: int
    cpus: CpuSet
    policy: str = ""
    nodes: CpuSet = field(default_factory=CpuSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A process as it is.

    wanted       what travels with it; None: numatune did not start it
    kib          its own memory by node: pages that were allocated for it
    others_kib   memory of files and of others that it maps, by node: whoever touched it first placed it
    unreadable   why a part could not be looked at
    differences  what is not as wanted, in words
    """

    pid: int
    name: str
    user: int
    wanted: Carried | None
    threads: tuple[Thread, ...] = ()
    kib: Mapping[int, int] = field(default_factory=dict)
    others_kib: Mapping[int, int] = field(default_factory=dict)
    unreadable: str = ""
    differences: tuple[str, ...] = ()

    @property
    def remote(self) -> float | None:
        """Which part of its own memory is not where it was wanted; None where no node was, or nothing is known."""
        if self.wanted is None or self.wanted.memory.mode not in _JUDGED or not sum(self.kib.values()):
            return None
        away = sum(kib for node, kib in self.kib.items() if node not in self.wanted.memory.nodes)
        return away / sum(self.kib.values())


def processes(pids: Collection[int] = (), match: str = "", root: str = "/") -> list[Proof]:
    """Those with these numbers, else those that numatune started, whose names match; by number."""
    proc = f"{root.rstrip('/')}/proc"
    named = [name for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208  # pathlib costs a start-up
    wanted = [pid for pid in sorted(map(int, named)) if not pids or pid in pids]
    found = (_proof(proc, pid, asked=bool(pids)) for pid in wanted)
    return [one for one in found if one is not None and (not match or fnmatchcase(one.name, match))]


def _proof(proc: str, pid: int, *, asked: bool) -> Proof | None:
    base = f"{proc}/{pid}"
    try:
        environment = _bytes(f"{base}/environ").split(b"\0")
        hidden = ""
    except PermissionError:
        environment, hidden = [], "another user's: needs root"
    except OSError:
        return None
    carried = next((each[len(_MARK) :] for each in environment if each.startswith(_MARK)), None)
    if carried is None and not asked:
        return None
    try:
        wanted = read(carried.decode("ascii", "replace")) if carried is not None else None
    except ValueError as error:
        wanted, hidden = None, str(error)
    try:
        found = Proof(
            pid=pid,
            name=_bytes(f"{base}/comm").decode("utf-8", "replace").strip(),
            user=os.stat(base).st_uid,  # noqa: PTH116  # as above
            wanted=wanted,
            threads=tuple(_threads(base)),
        )
    except OSError:  # it has ended
        return None
    return _judged(_with_memory(found, base, hidden))


def _threads(base: str) -> Iterator[Thread]:
    for name in sorted(os.listdir(f"{base}/task"), key=int):  # noqa: PTH208  # as above
        try:
            status = _bytes(f"{base}/task/{name}/status").decode("ascii", "replace")
        except OSError:
            continue
        lists = (line.partition(":")[2] for line in status.splitlines() if line.startswith("Cpus_allowed_list:"))
        cpus = CpuSet.parse(next(lists, ""))
        try:
            first = _bytes(f"{base}/task/{name}/numa_maps", _FIRST_LINES).decode("ascii", "replace")
            mapped = next(numa_maps.parse(first.partition("\n")[0]), None)
        except OSError:
            mapped = None
        yield Thread(int(name), cpus, mapped.mode, mapped.nodes) if mapped else Thread(int(name), cpus)


def _with_memory(found: Proof, base: str, hidden: str) -> Proof:
    try:
        text = _bytes(f"{base}/numa_maps").decode("ascii", "replace")
    except PermissionError:
        return replace(found, unreadable=hidden or "another user's: needs root")
    except OSError:
        return replace(found, unreadable=hidden or "this kernel has no numa_maps")
    own: dict[int, int] = {}
    others: dict[int, int] = {}
    for mapped in numa_maps.parse(text):
        into = own if mapped.own else others
        for node, kib in mapped.kib.items():
            into[node] = into.get(node, 0) + kib
    return replace(found, kib=own, others_kib=others, unreadable=hidden)


def _judged(found: Proof) -> Proof:
    """With what differs. A thread inside the wanted CPUs is as wanted: an engine may narrow its own workers further."""
    wanted = found.wanted
    if wanted is None:
        return found
    differences = []
    outside = [one for one in found.threads if wanted.cpus and not one.cpus <= wanted.cpus]
    if outside:
        where = str(outside[0].cpus)
        differences.append(f"{len(outside)} of {len(found.threads)} threads may run elsewhere (CPUs {where})")
    mode, nodes = wanted.memory.mode, wanted.memory.nodes
    other = [one for one in found.threads if one.policy and mode != "none" and (one.policy, one.nodes) != (mode, nodes)]
    if other:
        policy = f"{other[0].policy} {other[0].nodes}".rstrip()
        differences.append(f"{len(other)} of {len(found.threads)} threads have another memory policy ({policy})")
    if found.remote:
        differences.append(f"{found.remote:.1%} of its memory is elsewhere")
    return replace(found, differences=tuple(differences))


def _bytes(path: str, limit: int = -1) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # as above
        return file.read(limit) if limit >= 0 else file.readall()
