"""Run a command in a Debian root of its own: a mount namespace, an overlay for all writes, the live /proc.

    unshare --mount --propagation private python3 inside.py ROOT LAYER [BIND...] -- COMMAND...

ROOT stays as it is; LAYER/upper holds what was written. A BIND is HOST:GUEST, read-only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Mount, change root, become the command."""
    words = sys.argv[1:]
    at = words.index("--")
    root, layer, *binds = words[:at]
    top = Path(layer) / "root"
    for name in ("upper", "work", "root"):
        (Path(layer) / name).mkdir(parents=True, exist_ok=True)
    lower = f"lowerdir={root},upperdir={layer}/upper,workdir={layer}/work"
    mount("-t", "overlay", "overlay", "-o", lower, top)
    for folder in ("proc", "sys", "dev"):
        mount("--rbind", f"/{folder}", top / folder)
    for folder in ("run", "tmp"):
        mount("-t", "tmpfs", "tmpfs", top / folder)
    for bind in binds:
        source, _, target = bind.partition(":")
        (top / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mount("--bind", "-o", "ro", source, top / target.lstrip("/"))
    os.chroot(top)
    os.chdir("/")
    command = words[at + 1 :]
    os.execvp(command[0], command)  # noqa: S606  # the command is what this is for


def mount(*words: str | Path) -> None:
    """One mount, in this namespace only."""
    subprocess.run(["mount", *words], check=True)  # noqa: S607  # the system's own


if __name__ == "__main__":
    main()
