"""Where numatune keeps what it remembers. All of it is the host's: with another root it lies below that."""

from __future__ import annotations

import os

_STATE = "/var/lib/numatune"
_LOCK = "/run/numatune/lock"
_VARIABLE = "NUMATUNE_STATE_DIR"


def state(root: str = "/") -> str:
    """The state folder; NUMATUNE_STATE_DIR, taken as it is, moves it."""
    moved = os.environ.get(_VARIABLE)
    return os.path.abspath(moved) if moved else _below(root, _STATE)  # noqa: PTH100  # pathlib costs a start-up


def lock(root: str = "/") -> str:
    """The lock file. One a host, whatever the state folder: two of those still write to one kernel."""
    return _below(root, _LOCK)


def check(root: str = "/") -> str:
    """The lock file of the scheduled check. Who may not write beside the lock has one of their own."""
    folder = os.path.dirname(lock(root))  # noqa: PTH120  # pathlib costs a start-up
    if os.geteuid() == 0 or os.access(folder, os.W_OK):
        return f"{folder}/check.lock"
    return f"{os.environ.get('XDG_RUNTIME_DIR') or '/tmp'}/numatune-check-{os.geteuid()}.lock"  # noqa: S108  # opened without following links, and only if it is the caller's


def runs(state_folder: str) -> str:
    """The folder of the journals: 000001.jsonl, one a run."""
    return f"{state_folder}/runs"


def applied(state_folder: str) -> str:
    """The applied set."""
    return f"{state_folder}/applied.json"


def holds(state_folder: str) -> str:
    """What drift and repair leave alone for a while."""
    return f"{state_folder}/holds.json"


def confirm(state_folder: str) -> str:
    """A run that waits to be confirmed."""
    return f"{state_folder}/confirm.json"


def boot(state_folder: str) -> str:
    """What this boot has made so again, see engine/revived.py."""
    return f"{state_folder}/boot.json"


def witness(state_folder: str) -> str:
    """What the host answered when it was last known to be clean."""
    return f"{state_folder}/witness.json"


def repeated(state_folder: str) -> str:
    """What the host answered, and what was said, when an apply found nothing to do."""
    return f"{state_folder}/repeated.json"


def _below(root: str, path: str) -> str:
    return root.rstrip("/") + path
