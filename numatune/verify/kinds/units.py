"""Units: what ``systemctl`` says of them, and what runs, whatever it says."""

from __future__ import annotations

import re
from collections.abc import Mapping

from numatune.settings.codecs import shown
from numatune.settings.model import Setting
from numatune.settings.plan import Status
from numatune.settings.targets import UnitProperty, UnitState
from numatune.verify.asking import Answer, Asking
from numatune.verify.kinds import cgroups
from numatune.verify.verdict import Verdict, drifted, fine, holds, unread, verdict

_SETS = {
    "AllowedCPUs": ("EffectiveCPUs", "Cpus_allowed_list"),
    "AllowedMemoryNodes": ("EffectiveMemoryNodes", "Mems_allowed_list"),
}
"""What was asked for -> what systemd got for it, and what the kernel tells of a task."""
_ASKED_TOO = ("LoadState", "ActiveState", "ControlGroup", "EffectiveCPUs", "EffectiveMemoryNodes")
_ROOT = re.compile(r"(.*?)/[^/]+\.(?:slice|scope|service)(?:/|\Z)")
"""Of a unit's file in the cgroup tree, what is before the first unit: where the tree is mounted."""

_DOWN = frozenset({"inactive", "failed", "unknown"})
"""Nothing of the unit runs; systemd before v255 calls a unit that is not there unknown."""


def unit_property(setting: Setting, target: UnitProperty, ask: Asking) -> Verdict:
    """Judge whether systemd has the property, whether the unit got it, and whether its tasks have it."""
    source = f"systemctl show -p {target.name} {target.unit}"
    said = ask.run("systemctl", "show", "-p", ",".join((target.name, *_ASKED_TOO)), "--", target.unit)
    told = dict(line.partition("=")[::2] for line in said.stdout.splitlines())
    if target.name not in told:
        detail = said.stderr.strip() or f"this systemd has no {target.name}"
        return unread(setting, Answer(None, source, "absent", detail))
    if told.get("LoadState") == "not-found" and not target.unit.endswith(".slice"):  # a slice is made when it is named
        return unread(setting, Answer(None, source, "absent", "no such unit"))
    answer = Answer(told[target.name], source)
    if not holds(setting, told[target.name]):
        return drifted(setting, answer)
    if told.get("ActiveState", "inactive") in _DOWN:
        return verdict(setting, Status.PENDING, answer, f"in force when {target.unit} starts")
    return _in_force(setting, target, answer, told, ask)


def _in_force(setting: Setting, target: UnitProperty, answer: Answer, told: Mapping[str, str], ask: Asking) -> Verdict:
    """The unit is up and has the property; judge what came of it."""
    root = _ROOT.match(target.effective or "")
    folder = f"{root[1]}{told.get('ControlGroup', '')}" if root else ""
    if target.name in _SETS:
        effective, field = _SETS[target.name]
        got = told.get(effective) or None  # older than v244: no such property
        clamp = cgroups.clamped(setting, answer, got, effective)
        return clamp or cgroups.with_tasks(setting, answer, folder, field, ask)
    live = ask.file(f"{folder}/{(target.effective or '').rpartition('/')[2]}")
    if live.text is not None and not holds(setting, live.text):
        return verdict(setting, Status.CLAMPED, answer, f"{live.source} says {shown(setting.codec, live.text)}")
    return fine(setting, answer)


def unit_state(setting: Setting, target: UnitState, ask: Asking) -> Verdict:
    """Judge whether it is up, whether a boot would start it, or whether it is masked."""
    answer = _active(target, ask) if target.aspect == "active" else _at_boot(target, ask)
    if answer.text is None:
        return unread(setting, answer)
    return fine(setting, answer) if holds(setting, answer.text) else drifted(setting, answer)


def _active(target: UnitState, ask: Asking) -> Answer:
    """By ``systemctl is-active``, and by what runs: a daemon that somebody started by hand is no unit's."""
    source = f"systemctl is-active {target.unit}"
    text = ask.run("systemctl", "is-active", "--", target.unit).stdout.strip()
    pid = ask.process(target.process) if target.process else None
    if pid is not None and (not text or text in _DOWN):
        return Answer("active", f"/proc/{pid}/comm")
    if text:
        return Answer("inactive" if text in _DOWN else "active", source)
    if target.process:
        return Answer("inactive", f"/proc/*/comm {target.process}")
    return Answer(None, source, "absent", "systemd does not answer")


def _at_boot(target: UnitState, ask: Asking) -> Answer:
    """By ``systemctl is-enabled``, which on older systems says nothing of a unit that is not there."""
    source = f"systemctl is-enabled {target.unit}"
    if not ask.has("systemctl"):
        return Answer(None, source, "absent", "no systemctl on this host")
    return Answer(ask.run("systemctl", "is-enabled", "--", target.unit).stdout.strip() or "not-found", source)
