"""Machines that outlive the command that started them: `python -m lab up NAME SHAPE`, `python -m lab down NAME`.

A keeper, a process of its own, holds the machine as any other user of this package does. It also holds a lock for as
long as it lives, so that its process id is only ever used while it is certainly its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from lab.base import CACHE, CHECKOUT, LabError
from lab.image import key_pair
from lab.shapes import SHAPES
from lab.warm import machine

STANDING = CACHE / "standing"
LEASE = 2 * 3600.0  # seconds; whoever forgets to end a machine loses it then
ENDING = 60.0  # seconds a keeper has for ending what it holds


def up(name: str, shape: str) -> dict[str, object]:
    """Start it, unless it runs: its name, shape, user, host, port, and the file of the key that opens it."""
    if shape not in SHAPES or not re.fullmatch(r"[a-z0-9-]+", name):
        raise LabError(f"up NAME SHAPE: a name of a-z, 0-9 and -, and one of the shapes {', '.join(SHAPES)}")
    with claimed(name) as lock:
        if lock is not None:
            (STANDING / name / "machine.json").unlink(missing_ok=True)
            start(name, shape, lock)
    return running(name, shape)


def start(name: str, shape: str, lock: TextIO) -> None:
    """Start the keeper, which inherits the lock; back when its machine is up."""
    complaints = STANDING / name / "log"
    with complaints.open("w") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "lab", "keep", name, shape],
            cwd=CHECKOUT / "tests",
            pass_fds=[lock.fileno()],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert keeper.stdout is not None
    lock.write(str(keeper.pid))
    lock.flush()
    try:
        with keeper.stdout as told:
            started = told.readline()
    except BaseException:
        keeper.terminate()
        raise
    if not started:
        raise LabError(f"{name} did not start: {complaints.read_text(encoding='utf-8').strip()[-3000:]}")


def running(name: str, shape: str) -> dict[str, object]:
    """What the keeper of this machine wrote down when it had started it."""
    try:
        found: dict[str, object] = json.loads((STANDING / name / "machine.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"{name} is being started by somebody else") from None
    if found["shape"] != shape:
        raise LabError(f"{name} runs, as {found['shape']}; end it first: python -m lab down {name}")
    return found


def keep(name: str, shape: str) -> None:
    """What the keeper does: start a machine that has never seen numatune, say so, wait for the signal to end it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with machine(SHAPES[shape], bare=True) as made:
        told = {"name": name, "shape": shape, "user": "root", "host": "127.0.0.1", "port": made.ssh.port}
        part = STANDING / name / "machine.json.part"
        part.write_text(json.dumps(told | {"key": str(key_pair())}), encoding="utf-8")
        part.rename(part.with_suffix(""))
        sys.stdout.write("started\n")
        sys.stdout.flush()
        time.sleep(LEASE)


def down(name: str) -> bool:
    """End it at once, as a power cut does. False where it does not run."""
    with claimed(name) as lock:
        runs = lock is None
        if runs:
            end(name)
        shutil.rmtree(STANDING / name, ignore_errors=True)
    return runs


def end(name: str) -> None:
    """End the keeper, whose end is that of its machine."""
    pid = (STANDING / name / "keeper").read_text(encoding="ascii")
    if not pid:
        raise LabError(f"{name} is being started by somebody else")
    with contextlib.suppress(ProcessLookupError):
        keeper = os.pidfd_open(int(pid))
        with os.fdopen(keeper), claimed(name) as lock:
            if lock is not None:
                return  # it ended meanwhile: the id may be another's by now
            for number in (signal.SIGTERM, signal.SIGKILL):
                signal.pidfd_send_signal(keeper, number)
                if select.select([keeper], [], [], ENDING)[0]:
                    return


def standing() -> list[str]:
    """The names of the machines that run; what keepers left behind that ended by themselves is removed."""
    found = []
    for folder in sorted(STANDING.glob("*")):
        with claimed(folder.name) as lock:
            if lock is None:
                found.append(folder.name)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    return found


@contextlib.contextmanager
def claimed(name: str) -> Iterator[TextIO | None]:
    """The file with the keeper's id, emptied and locked; None while a keeper holds it."""
    (STANDING / name).mkdir(parents=True, exist_ok=True)
    with Path(STANDING, name, "keeper").open("a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        lock.truncate(0)
        yield lock
