"""Machines that are ready in seconds: booted once, saved, and restored from then on.

Two states a shape: booted, and with this checkout's code. Each lies in the cache under a hash of all it depends on.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.base import CACHE, CHECKOUT, call, digest, locked
from lab.image import Image, image
from lab.machine import Machine, machine_line, sweep
from lab.shapes import Shape

GUEST = Path(__file__).parent / "guest"
HOME = "/opt/numatune"
# Byte code is written and every module read once, or each test would pay for it.
WARM_UP = f"""
cd / && python3 -m compileall -q {HOME}/numatune {HOME}/guest
numatune topology >/dev/null && numatune verify llm-inference --differences-ok >/dev/null
rm -rf /run/numatune /var/lib/numatune
"""


def machine(shape: Shape, suite: str = "trixie") -> Machine:
    """A running machine with this checkout's numatune, as nobody has touched it. The caller ends it: `with`."""
    with locked():
        sweep()
        origin = image(suite)
        if not any((CACHE / "runs").glob("*")):
            drop(CACHE / "images", f"{suite}-*", [origin.folder])
        made = Machine(shape, origin)
        try:
            made.restore(ready(made, made.image))
        except BaseException:
            made.close()
            raise
    return made


def ready(made: Machine, origin: Image) -> Path:
    """The folder of the state to restore from; made by way of this machine if the cache has none."""
    states = CACHE / "states"
    line = digest(call("qemu-system-x86_64", "--version"), *machine_line(made.shape, origin))
    booted = states / f"{made.shape.name}-{line}"
    files = code()
    coded = states / f"{made.shape.name}-{line}-{digest(WARM_UP, *(part for item in files.items() for part in item))}"
    drop(states, f"{made.shape.name}-*", [booted, coded])
    if not booted.exists():
        made.boot(plug=False)
        made.save(booted)
    if not coded.exists():
        made.restore(booted, plug=False)
        made.ssh.unpack(files, HOME)
        made.run(WARM_UP)
        made.save(coded)
    return coded


def drop(folder: Path, pattern: str, kept: Sequence[Path]) -> None:
    """Remove what lies there under that pattern, but for what is kept."""
    for old in folder.glob(pattern):
        if old not in kept:
            shutil.rmtree(old)


def code() -> dict[str, bytes]:
    """What of this checkout goes into a guest: path below its home there -> content."""
    found = {}
    for folder, top in ((CHECKOUT / "numatune", CHECKOUT), (CHECKOUT / "profiles", CHECKOUT), (GUEST, GUEST.parent)):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found[str(path.relative_to(top))] = path.read_bytes()
    return found
