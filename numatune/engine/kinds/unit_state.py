"""Whether a unit of systemd runs, starts at boot, is masked; and whether its program runs without any unit.

A program may run though its unit does not: started by hand, by another init, in a container. That is told with its pid,
and left alone: numatune stops units, not processes.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping

from numatune.engine.kinds import systemctl
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Conflict, Observation
from numatune.settings.targets import UnitState

_ASKED = ("LoadState", "ActiveState", "UnitFileState", "TriggeredBy", "ControlGroup")
_STOPPED = frozenset({"inactive", "failed"})
_COMM = 15
"""The kernel keeps that many characters of a program's name (TASK_COMM_LEN less one)."""


def look(target: UnitState, setting: Setting, reader: Reader) -> Observation:
    """active: "active" or "inactive". enabled, masked: systemd's own word for its unit file, "" when there is none."""
    shown = systemctl.show(target.unit, _ASKED, reader)
    if isinstance(shown, int):
        return _without_systemd(target, shown, reader)
    where = target.unit if shown.get("LoadState") != "not-found" else f"{target.unit} (not installed)"
    if target.aspect != "active":
        return Observation(shown.get("UnitFileState", ""), where=where)
    if shown.get("ActiveState", "inactive") in _STOPPED:
        return _by_process(target, where, reader)
    wakers = shown.get("TriggeredBy", "").split() if not meets(setting.codec, setting.want or "", "active") else []
    conflicts = tuple(Conflict(waker, "starts it again", None) for waker in wakers)
    return Observation("active", where=where, in_use=True, users=(target.unit,), conflicts=conflicts)


def write(target: UnitState, change: Change, host: Host) -> int:
    """The one systemctl command that brings each wanted word about. 0 or the errno."""
    for word in change.writes:
        argv = ("unmask",) if _unmasks(target, word) else _COMMANDS.get((target.aspect, word.strip()))
        if argv is None:
            return errno.EINVAL
        if failed := systemctl.tell((*argv, "--", target.unit), host):
            return failed
    return 0


_COMMANDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("active", "active"): ("start",),
    ("active", "inactive"): ("stop",),
    ("enabled", "enabled"): ("enable",),
    ("enabled", "enabled-runtime"): ("enable", "--runtime"),
    ("enabled", "disabled"): ("disable",),
    ("enabled", "disabled-runtime"): ("disable", "--runtime"),
    ("masked", "masked"): ("mask",),
    ("masked", "masked-runtime"): ("mask", "--runtime"),
}


def _unmasks(target: UnitState, word: str) -> bool:
    """Without its mask a unit file is in the state again that it had before, whichever that was."""
    return target.aspect == "masked" and not word.startswith("masked")


def _without_systemd(target: UnitState, code: int, reader: Reader) -> Observation:
    """Only processes tell whether it runs; nothing tells whether it would at boot."""
    if target.aspect == "active" and code == systemctl.NOT_SYSTEMD and reader.names("/proc"):
        return _by_process(target, "/proc", reader)
    return Observation(None, code, target.unit)


def _by_process(target: UnitState, where: str, reader: Reader) -> Observation:
    pids = processes(target.process, reader) if target.process else ()
    if not pids:
        return Observation("inactive", where=where)
    named = f"runs as pid {', '.join(pids)} outside of the unit"
    return Observation(
        "active",
        where=f"/proc/{pids[0]}/comm",
        in_use=True,
        users=tuple(f"{pid} {target.process}" for pid in pids),
        hands_off=f"{target.process} {named}: numatune stops units, not processes",
    )


def processes(comm: str, reader: Reader) -> tuple[str, ...]:
    """Pids of the processes of that name, lowest first."""
    wanted = comm[:_COMM]
    pids = (name for name in reader.names("/proc") if name.isdecimal())
    return tuple(pid for pid in pids if (reader.read(f"/proc/{pid}/comm").text or "").strip() == wanted)
