"""Become the first process of a Debian root of its own: an overlay for all writes, the live /proc and /sys.

    unshare --mount --net --propagation private python3 inside.py ROOT[:ROOT...] LAYER [BIND...]

The ROOTs stay as they are; LAYER/upper holds what was written. A BIND is HOST:GUEST, read-only. Prints ready.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Mount, change root, wait to be killed."""
    roots, layer, *binds = sys.argv[1:]
    top = Path(layer) / "root"
    for name in ("upper", "work", "root"):
        (Path(layer) / name).mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={roots},upperdir={layer}/upper,workdir={layer}/work"
    mount("-t", "overlay", "overlay", "-o", options, top)
    for folder in ("proc", "sys", "dev"):
        mount("--rbind", f"/{folder}", top / folder)
    for folder in ("run", "tmp", "mnt"):
        mount("-t", "tmpfs", "tmpfs", top / folder)
    for bind in binds:
        source, _, target = bind.partition(":")
        at = top / target.lstrip("/")
        at.mkdir(parents=True)
        mount("--bind", "-o", "ro", source, at)
    os.chroot(top)
    os.chdir("/")
    print("ready", flush=True)  # noqa: T201  # whoever started this waits for it
    signal.pause()


def mount(*words: str | Path) -> None:
    """One mount, in this namespace only."""
    subprocess.run(["mount", *words], check=True)  # noqa: S607  # the system's own


if __name__ == "__main__":
    main()
