"""Makes a placement true of this process, reads it back, and degrades in steps that each leave a line.

This thread alone: the interpreter has no other one, and what it starts inherits affinity, memory policy and THP
setting, over exec too (sched(7), set_mempolicy(2), prctl(2)).
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from numatune import mempolicy
from numatune.cpus import CpuSet
from numatune.errors import LaunchError
from numatune.launch.model import Memory, Placement
from numatune.launch.policy import MemoryMode, Policy, Thp

_SET_THP_DISABLE, _GET_THP_DISABLE = 41, 42
_EXCEPT_ADVISED = 2
"""PR_THP_DISABLE_EXCEPT_ADVISED, Linux 6.18 (include/uapi/linux/prctl.h); PR_GET then answers 1 | 2."""

_GROUPS = "/sys/fs/cgroup"
_MOST_CPUS = 8192
"""More than any kernel numbers (NR_CPUS); ids may have gaps, so that a count of CPUs is no bound."""

Say = Callable[[str], None]
"""Takes one line for stderr: what could not be done, the errno, and what to do."""


@dataclass(frozen=True, slots=True)
class Before:
    """What the process had, for an error of our own: the command then starts as it would have without us."""

    cpus: frozenset[int]
    memory: mempolicy.InForce | None

    @classmethod
    def now(cls) -> Before:
        """Ask the kernel."""
        try:
            memory = mempolicy.of_task()
        except OSError:
            memory = None  # then it cannot be set either
        return cls(frozenset(os.sched_getaffinity(0)), memory)

    def restore(self) -> None:
        """Give it back, as far as the kernel lets us."""
        with suppress(OSError):
            os.sched_setaffinity(0, self.cpus)
        if self.memory is not None:
            with suppress(OSError):
                mempolicy.set_task(self.memory.mode, self.memory.nodes)


def join(group: str, say: Say, *, strict: bool = False) -> None:
    """Move this process into a control group: the cgroup2 one, or on v1 that of the cpuset hierarchy."""
    v2 = os.path.exists(f"{_GROUPS}/cgroup.controllers")  # noqa: PTH110  # pathlib costs a start-up
    path = f"{_GROUPS}/{'' if v2 else 'cpuset/'}{group.strip('/')}/cgroup.procs"
    if ".." in group.split("/"):
        raise LaunchError("cgroup", f"{group} leads out of {_GROUPS}")
    try:
        with open(path, "w", encoding="ascii") as procs:  # noqa: PTH123  # as above
            procs.write(str(os.getpid()))
    except OSError as error:
        _refused(f"cgroup {group} cannot be joined: {_told(error)}; it starts outside", say, strict=strict)


def widen(say: Say) -> None:
    """Give the inherited affinity up for all CPUs of the cpuset: the kernel cuts what is beyond it."""
    try:
        os.sched_setaffinity(0, range(_MOST_CPUS))
    except OSError as error:
        say(f"the inherited CPUs cannot be widened: {_told(error)}")


def apply(placement: Placement, policy: Policy, say: Say) -> Memory:
    """Bind this process; what was reached of the memory policy. Raises LaunchError under `strict` for any step down."""
    before = Before.now()
    if placement.bound:
        _cpus(placement.cpus, say, strict=policy.strict)
    if policy.thp != "keep":
        _thp(policy.thp, say, strict=policy.strict)
    if placement.shm:
        from numatune.launch import shm_mount  # noqa: PLC0415  # hardly ever needed

        shm_mount.interleave(placement.shm, say, strict=policy.strict)
    held = _memory(placement, policy, say)
    if held is None:  # the ladder's last step, or its end
        before.restore()
        say("starts unbound")
        return Memory()
    return held


def _cpus(cpus: CpuSet, say: Say, *, strict: bool) -> None:
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        help_ = (
            "the cpuset has changed meanwhile" if error.errno == errno.EINVAL else "seccomp or ptrace rules refuse it"
        )
        _refused(f"CPUs {cpus} refused: {_told(error)} ({help_}); the CPUs stay as they are", say, strict=strict)
        return
    held = CpuSet(os.sched_getaffinity(0))
    if held != cpus:
        _refused(f"CPUs {cpus} were asked for, the kernel holds {held}: the cpuset allows no more", say, strict=strict)


def _memory(placement: Placement, policy: Policy, say: Say) -> Memory | None:
    """Down the ladder; None: nothing is to be bound. A call that is refused as such is refused in every mode."""
    wanted, own = placement.memory, CpuSet() if placement.node is None else CpuSet([placement.node])
    if wanted.mode == "none":
        return wanted
    problem = _try(wanted, say)
    if problem is None:
        return wanted
    _refused(f"memory {_spelled(wanted)} refused: {mempolicy.explain(problem)}", say, strict=policy.strict)
    closed = problem.errno in {errno.EPERM, errno.ENOSYS}
    for step in policy.fallback:
        if step == "none":
            return None
        if step == "cpu-only":
            say("CPUs are bound, memory is not")
            return Memory()
        other = _instead(step, wanted.nodes, own)
        if closed or other == wanted or (step != "local" and not other.nodes):
            continue
        problem = _try(other, say)
        if problem is None:
            say(f"memory {_spelled(other)} instead")
            return other
        say(f"memory {_spelled(other)} refused too: {mempolicy.explain(problem)}")
    return None


def _try(wanted: Memory, say: Say) -> OSError | None:
    """Set, and read back: the kernel takes nodes out that are not there, without an error."""
    try:
        mempolicy.set_task(wanted.mode, wanted.nodes)
        held = mempolicy.of_task()
    except OSError as error:
        return error
    if held != mempolicy.InForce(wanted.mode, wanted.nodes):
        say(f"memory {_spelled(wanted)} was asked for, the kernel holds {held!r}")
    return None


def _instead(mode: MemoryMode, nodes: CpuSet, own: CpuSet) -> Memory:
    """A mode of the ladder over the nodes that were wanted; preferred takes the process's own one of them."""
    if mode == "local":
        return Memory(mode)
    if mode == "preferred":
        nodes = nodes & own or nodes
        return Memory("preferred-many" if len(nodes) > 1 else mode, nodes)
    return Memory(mode, nodes)


def _spelled(memory: Memory) -> str:
    return f"{memory.mode} {memory.nodes}".rstrip()


def _thp(wanted: Thp, say: Say, *, strict: bool) -> None:
    flags, held = (0, 1) if wanted == "never" else (_EXCEPT_ADVISED, 1 | _EXCEPT_ADVISED)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    words = [ctypes.c_ulong(each) for each in (1, flags, 0, 0)]
    if prctl(_SET_THP_DISABLE, *words):
        code = ctypes.get_errno()
        help_ = " (madvise needs Linux 6.18)" if flags and code == errno.EINVAL else ""
        _refused(f"thp {wanted} refused: {_named(code)}{help_}", say, strict=strict)
    elif prctl(_GET_THP_DISABLE, *(ctypes.c_ulong(0) for _ in words)) != held:
        _refused(f"thp {wanted} was asked for, the kernel does not hold it", say, strict=strict)


def _refused(what: str, say: Say, *, strict: bool) -> None:
    if strict:
        raise LaunchError("", what, hint="strict allows nothing but what is asked for")
    say(what)


def _told(error: OSError) -> str:
    return _named(error.errno or 0)


def _named(code: int) -> str:
    return f"{errno.errorcode.get(code, str(code))}: {os.strerror(code)}"
