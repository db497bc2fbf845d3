"""What every part of the lab needs: its one error, its cache, commands that explain their failure, content hashes."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
# Images and saved states. A folder outside the checkout (LAB_CACHE) serves several of them, and survives `make clean`.
CACHE = Path(os.environ.get("LAB_CACHE") or CHECKOUT / ".build" / "lab").absolute()
MATRIX = os.environ.get("LAB_MATRIX") == "1"  # as in `make lab-matrix`: what takes minutes more
COMMANDS = ("qemu-system-x86_64", "qemu-img", "iasl", "mmdebstrap", "mke2fs", "ssh", "ssh-keygen", "setpriv")


class LabError(Exception):
    """A machine could not be built, started or asked; one message for whoever runs the tests."""


class SilentError(LabError):
    """A guest that runs and does not answer in time."""


def missing() -> str:
    """Why no machine can be built here; empty where one can."""
    if os.geteuid() != 0:
        return "building a guest's file system needs root"
    absent = [name for name in COMMANDS if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)} (make .build/apt-lab)" if absent else ""


def call(*argv: str, cwd: Path | None = None) -> str:
    """The output of a command; LabError with the last lines of its complaint if it fails."""
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{argv[0]} exited {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def digest(*parts: str | bytes) -> str:
    """A name for what is made from these parts, in this order."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()[:16]


def digest_files(paths: Sequence[Path]) -> str:
    """A name for the content and the file names of these files."""
    return digest(*(part for path in paths for part in (path.name, path.read_bytes())))


@contextlib.contextmanager
def locked(name: str = "cache") -> Iterator[None]:
    """One process at a time looks at this part of the cache or adds to it."""
    (CACHE / "locks").mkdir(parents=True, exist_ok=True)
    with (CACHE / "locks" / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
