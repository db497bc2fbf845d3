"""The real command in a process of its own, on this machine or behind whatever wraps it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NUMATUNE = (sys.executable, "-P", "-m", "numatune")
_KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a process. `code` is negative after a signal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """What was said on stderr."""
        return self.err.splitlines()


def process(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, seconds: float = 120
) -> Ended:
    """Run it to its end in an environment of few variables and `env`. A trace on stderr is a failure of any test."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    done = subprocess.run(
        argv,
        cwd=cwd,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "the trace is in" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def numatune(
    *words: str,
    state: Path,
    wrap: Sequence[str] = (),
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """One command line. `wrap`: what goes before it, as ``setpriv ...`` or ``unshare ...``."""
    environment = {"NUMATUNE_STATE_DIR": str(state), **(env or {})}
    return process([*wrap, *NUMATUNE, *words], cwd=cwd or state.parent, env=environment)


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@functools.cache
def no_nobody() -> str:
    """Why a command of numatune cannot be run as nobody, or ""."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return "only root can become nobody, with setpriv"
    asks = [*AS_NOBODY, sys.executable, "-P", "-c", "import numatune, yaml"]
    ended = subprocess.run(asks, check=False, capture_output=True).returncode
    return "nobody may not read this checkout or its virtual environment" if ended else ""


def mounted(script: str, *arguments: object) -> tuple[str, ...]:
    """What to wrap a command in so that it has mounts of its own: `script` (sh, as root) makes them, of "$1" ..."""
    count = len(arguments)
    run = f'{script}\nshift {count}\nexec "$@"'
    return ("unshare", "--mount", "--propagation", "private", "sh", "-ec", run, "sh", *map(str, arguments))


@functools.cache
def can_mount() -> bool:
    """Whether this process may make a mount namespace."""
    ask = mounted("mount -t tmpfs none /mnt")
    return (
        os.geteuid() == 0
        and bool(shutil.which("unshare"))
        and subprocess.run([*ask, "true"], check=False, capture_output=True).returncode == 0
    )
