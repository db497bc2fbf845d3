"""The process that waits where no systemd does: ``python -m numatune.engine.timer SECONDS FILE RUN COMMAND...``.

FILE is the stored wait. Prints the pid of the process that waits and returns at once. That process replaces itself by
COMMAND when the time is over, unless FILE is gone or is about another wait. It imports next to nothing: it may wait for
days.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

_LOG = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW


def main(argv: list[str]) -> None:
    """Fork the waiting process."""
    seconds, path, run, *command = argv
    deadline = _now() + int(seconds)
    log = os.open(f"{os.path.dirname(path)}/confirm.log", _LOG, 0o644)  # noqa: PTH120  # pathlib costs memory for days
    pid = os.fork()
    if pid:
        print(pid, flush=True)  # noqa: T201  # for the process that asked
        os._exit(0)
    _detach(log)
    while (left := deadline - _now()) > 0:
        time.sleep(min(left, 3600))
    if _still_waits(path, int(run)):
        os.execv(command[0], command)  # noqa: S606  # an argv list of our own


def _now() -> float:
    """Seconds that also pass while the host sleeps, and that no clock setting moves."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _detach(log: int) -> None:
    """Nothing of the terminal is kept; what the rollback says goes to the log."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _still_waits(path: str, run: int) -> bool:
    """Whether the file is about this process. An unreadable one means yes: then nobody confirmed."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib costs memory for days
            held = json.load(file)["holds"]
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True
    return bool(held["run"] == run and held["pid"] == os.getpid())


if __name__ == "__main__":
    main(sys.argv[1:])
