"""Take a run back unless somebody confirms it in time: for changes that may cut the only way to the host.

The wait is armed before the first write. Where systemd is process 1 a transient timer waits, else a process of ours in
a session of its own (engine/timer.py); both end in the same ``numatune rollback --run N``. Who arms, confirms or rolls
back holds the host's lock, so a run is either confirmed or taken back, never half of each.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from dataclasses import replace

from numatune.engine import store, when
from numatune.errors import NumatuneError
from numatune.host.protocol import Host
from numatune.settings.applied import Waiting
from numatune.settings.journal import RunStart

_OWN_UNIT = "NUMATUNE_CONFIRM_UNIT"
"""Tells the rollback which unit it runs in: it must not stop itself."""

_LOCK_WAIT = 3600
"""Seconds that the rollback waits for an apply that is still writing when its time is over."""

_END_WAIT = 5.0


def last(path: str, boot_id: str) -> Waiting | None:
    """The last wait of this boot, over or not. A reboot ends every wait. Raises TrustError, StateError."""
    found = store.load(path, Waiting)
    return found if found and found.boot_id == boot_id else None


def waits(path: str, boot_id: str) -> Waiting | None:
    """What waits for confirm. Raises TrustError, StateError."""
    found = last(path, boot_id)
    return found if found and not found.undone else None


def arm(path: str, host: Host, start: RunStart, seconds: int) -> Waiting:
    """Start the wait for a run that is about to write, and store it at `path`.

    Raises NumatuneError when it cannot start: then the run must not begin.
    """
    command = undo_command(host, start.run)
    waiting = Waiting(start.run, when.stamp(seconds), start.who, start.boot_id, "process")
    if host.root == "/" and host.real("/run/systemd/system"):
        return _arm_unit(path, host, waiting, seconds, command)
    return _arm_process(path, host, waiting, seconds, command)


def _arm_unit(path: str, host: Host, waiting: Waiting, seconds: int, command: tuple[str, ...]) -> Waiting:
    """Stored first: a unit that nobody knew of would take back whatever run gets the number next."""
    waiting = replace(waiting, method="systemd", unit=f"numatune-confirm-{waiting.run}")
    store.save(path, waiting)
    try:
        _start_unit(host, waiting, seconds, command)
    except NumatuneError:
        store.remove(path)
        raise
    return waiting


def _arm_process(path: str, host: Host, waiting: Waiting, seconds: int, command: tuple[str, ...]) -> Waiting:
    """Stored last, because only then its pid is known; the process does nothing when it is not in the file."""
    pid = _start_process(path, waiting.run, seconds, command)
    waiting = replace(waiting, pid=pid, started=_started(pid))
    try:
        store.save(path, waiting)
    except BaseException:
        _stop(waiting, host)
        raise
    return waiting


def disarm(path: str, host: Host, waiting: Waiting) -> bool:
    """End the wait; with the lock held, also a rollback that it started and that still waits for the lock.

    False when nothing waited any more. Touches only a unit or process that this wait started. Raises NumatuneError when
    it does not end.
    """
    stopped = _stop(waiting, host)
    store.remove(path)
    return stopped


def taken_back(path: str, host: Host, waiting: Waiting) -> None:
    """The run is rolled back, by this wait or by hand: end the wait, and note it for who comes to confirm too late."""
    _stop(waiting, host)
    store.save(path, replace(waiting, undone=when.stamp()))


def undo_command(host: Host, run: int) -> tuple[str, ...]:
    """The argv that takes a run back. ``-P``: nothing is imported from the folder that it happens to run in."""
    where = () if host.root == "/" else ("--root", host.root, "--root-is-live")
    wait = ("--wait", str(_LOCK_WAIT))
    return (sys.executable, "-P", "-m", "numatune", *where, "rollback", "--run", str(run), "--yes", *wait)


def _start_unit(host: Host, waiting: Waiting, seconds: int, command: tuple[str, ...]) -> None:
    unit = waiting.unit
    passed = tuple(f"--setenv={name}={text}" for name, text in {**_environment(), _OWN_UNIT: unit}.items())
    timing = (f"--on-active={seconds}s", "--timer-property=AccuracySec=1s")
    said = f"--description=roll numatune's run {waiting.run} back unless it is confirmed"
    ran = host.run(("systemd-run", "--quiet", "--collect", f"--unit={unit}", said, *timing, *passed, "--", *command))
    if ran.code:
        reason = ran.err.strip() or f"systemd-run ended with {ran.code}"
        raise NumatuneError("--confirm-within", f"no timer could be started: {reason}", hint="nothing was changed")


def _start_process(path: str, run: int, seconds: int, command: tuple[str, ...]) -> int:
    """Pid of the waiting process."""
    argv = (sys.executable, "-P", "-m", "numatune.engine.timer", str(seconds), path, str(run), *command)
    ran = subprocess.run(  # noqa: S603  # an argv list of our own
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, **_environment()},
        text=True,
        cwd="/",
        start_new_session=True,
        check=False,
    )
    if ran.returncode or not ran.stdout.strip().isdecimal():
        reason = ran.stderr.strip().splitlines()[-1:] or [f"it ended with {ran.returncode}"]
        raise NumatuneError("--confirm-within", f"no timer could be started: {reason[0]}", hint="nothing was changed")
    return int(ran.stdout)


def _environment() -> dict[str, str]:
    """What the rollback, which starts in another folder, must know to find the same state and the same numatune."""
    found = {name: os.environ[name] for name in ("NUMATUNE_STATE_DIR", "PYTHONPATH") if os.environ.get(name)}
    return {name: ":".join(map(os.path.abspath, text.split(":"))) for name, text in found.items()}


def _stop(waiting: Waiting, host: Host) -> bool:
    if waiting.method == "process":
        return _end(waiting.pid, waiting.started)
    names = [f"{waiting.unit}.timer"]
    if os.environ.get(_OWN_UNIT) != waiting.unit:
        names.append(f"{waiting.unit}.service")
    ran = [_stop_unit(name, host) for name in names]
    return any(ran)


def _stop_unit(name: str, host: Host) -> bool:
    """Whether it ran. The timer's service is stopped though it does not run: its start may be waiting in line.

    To stop a unit that systemd has not loaded is an error (5), and the service is such a one once the timer is gone.
    """
    ran = _runs(name, host)
    stopped = host.run(("systemctl", "stop", name))
    if stopped.code and _runs(name, host):
        raise NumatuneError(name, f"does not stop: {stopped.err.strip()}", hint=f"systemctl stop {name}")
    return ran


def _runs(name: str, host: Host) -> bool:
    return host.ask(("systemctl", "is-active", "--quiet", name)).code == 0


def _end(pid: int, started: str) -> bool:
    """End our process, and no other that has its number by now. False when it is gone already."""
    if pid == os.getpid():
        return False
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not started or _started(pid) != started:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        if not select.select([fd], [], [], _END_WAIT)[0]:
            raise NumatuneError(f"process {pid}", "waits for confirm and does not end")
    finally:
        os.close(fd)
    return True


def _started(pid: int) -> str:
    """Start time of a process in clock ticks since boot, field 22 of /proc/PID/stat; "" when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # pathlib costs a start-up
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
