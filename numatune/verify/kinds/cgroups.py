"""Cgroups: is one there, and what its tasks may really use (/proc/PID/status), whatever its files say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.settings.codecs.sets import CpuList
from numatune.settings.model import Setting
from numatune.settings.plan import Status
from numatune.settings.targets import Cgroup
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import Verdict, drifted, fine, verdict

SETS = {"cpuset.cpus": "Cpus_allowed_list", "cpuset.mems": "Mems_allowed_list"}
"""A cgroup's file -> what the kernel tells of a task in it, in /proc/PID/status."""

_TASKS_ASKED = 4
"""In each cgroup: what one task may use, all of them may, save for a narrower affinity of their own."""
_LINE = re.compile(r"^(\w+):\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """A process, and a set that the kernel allows it."""

    pid: str
    comm: str
    allowed: CpuSet

    @override
    def __str__(self) -> str:
        return f"pid {self.pid} ({self.comm})"


def cgroup(setting: Setting, target: Cgroup, ask: Asking) -> Verdict:
    """Judge whether the cgroup is there. Every one has cgroup.procs, of v1 and of v2."""
    source = f"{target.path}/cgroup.procs"
    if ask.exists(source):
        return fine(setting, Answer(setting.want, source))
    return drifted(setting, Answer(None, source), f"there is no cgroup {target.path}")


def in_force(setting: Setting, path: str, effective: str | None, answer: Answer, ask: Asking) -> Verdict:
    """The cgroup's file is as wanted; judge whether that is what it got, and what its tasks have."""
    got = ask.file(effective).text if effective else None
    if clamp := clamped(setting, answer, got, effective or ""):
        return clamp
    folder, _, name = path.rpartition("/")
    return with_tasks(setting, answer, folder, SETS[name], ask)


def clamped(setting: Setting, answer: Answer, got: str | None, where: str) -> Verdict | None:
    """The verdict when `got`, said at `where` to be in force, is another set than `answer`, which was asked for.

    Asking for nothing is to have what the parent has.
    """
    if got is None or not isinstance(setting.codec, CpuList):
        return None
    asked, has = setting.codec.read(answer.text or ""), setting.codec.read(got)
    if not asked or has == asked:
        return None
    return verdict(setting, Status.CLAMPED, answer, f"asked for {asked}, {where} says {has or 'nothing'}")


def with_tasks(setting: Setting, answer: Answer, folder: str, field: str, ask: Asking) -> Verdict:
    """All else agrees; judge whether any task in `folder` or below has `field` beyond what `answer` says."""
    allowed = setting.codec.read(answer.text or "") if isinstance(setting.codec, CpuList) else CpuSet()
    tasks = list(_tasks(folder, field, ask)) if allowed else []
    for task in tasks:
        if not task.allowed <= allowed:
            told = Answer(str(task.allowed), f"/proc/{task.pid}/status {field}")
            return drifted(setting, told, f"{answer.source} says {allowed}, but {task} may use {task.allowed}")
    return fine(
        setting, replace(answer, source=", ".join([answer.source, *(f"/proc/{t.pid}/status" for t in tasks[:1])]))
    )


def _tasks(folder: str, field: str, ask: Asking) -> Iterator[Task]:
    """A few tasks that are still there when they are asked."""
    listed = ask.run("find", folder, "-name", "cgroup.procs", "-exec", "cat", "--", "{}", "+")
    for pid in listed.stdout.split()[:_TASKS_ASKED]:
        held = dict(_LINE.findall(ask.file(f"/proc/{pid}/status").text or ""))
        if field in held:
            yield Task(pid, held.get("Name", ""), CpuSet.parse(held[field]))
