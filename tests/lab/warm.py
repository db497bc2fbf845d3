"""Machines that are ready in seconds: booted once, saved, and restored from then on.

Two states a shape: booted, and with this checkout's code. Each lies in the cache under a hash of all it depends on.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.base import CACHE, CHECKOUT, call, digest, digest_files, locked
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
        made = Machine(shape, image(suite))
        try:
            made.restore(ready(made, made.image))
        except BaseException:
            made.close()
            raise
    return made


def ready(made: Machine, origin: Image) -> Path:
    """The folder of the state to restore from; made by way of this machine if the cache has none."""
    states = CACHE / "states"
    own = digest_files([Path(__file__), Path(__file__).with_name("machine.py")])
    line = digest(call("qemu-system-x86_64", "--version"), *machine_line(made.shape, origin), own)
    booted = states / f"{made.shape.name}-{line}"
    files = code()
    coded = states / f"{made.shape.name}-{line}-{digest(*(part for item in files.items() for part in item))}"
    for old in states.glob(f"{made.shape.name}-*"):
        if old not in (booted, coded):
            shutil.rmtree(old)
    if not booted.exists():
        made.boot(plug=False)
        made.save(booted)
    if not coded.exists():
        made.restore(booted, plug=False)
        made.ssh.unpack(files, HOME)
        made.run(WARM_UP)
        made.save(coded)
    return coded


def code() -> dict[str, bytes]:
    """What of this checkout goes into a guest: path below its home there -> content."""
    found = {}
    for folder, top in ((CHECKOUT / "numatune", CHECKOUT), (CHECKOUT / "profiles", CHECKOUT), (GUEST, GUEST.parent)):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found[str(path.relative_to(top))] = path.read_bytes()
    return found
