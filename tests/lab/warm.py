"""Machines that are ready in seconds: booted once, given this checkout's code, saved, and restored from then on.

A state lies in the cache under a hash of all that it depends on but the code. What has changed in the code since is put
into each machine that starts from it and is not saved; `LAB_SAVE=1` saves it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from lab.base import CACHE, CHECKOUT, SilentError, call, digest, locked
from lab.contents import INSTALLED
from lab.image import image
from lab.kernels import DEFAULT
from lab.machine import Machine, sweep
from lab.qemu import MACHINE
from lab.shapes import Shape

GUEST = Path(__file__).parent / "guest"
HOME = "/opt/numatune"
# Byte code is written and read once with all that it uses, or each test would pay for it.
WARM_UP = f"""
cd / && python3 -m compileall -q {HOME}/numatune {HOME}/guest
find {HOME} /usr/lib/python3* '(' -name '*.pyc' -o -name '*.so' ')' -exec cat {{}} + > /dev/null
"""
MANIFEST = "code.json"  # beside a state's disks: the code in it, path below HOME -> SHA-256


def machine(shape: Shape, kernel: str = DEFAULT, *, bare: bool = False) -> Machine:
    """A running machine with this checkout's numatune, as nobody has touched it. The caller ends it: `with`.

    A bare one has no numatune.
    """
    with locked():
        sweep()
        origin = image()
        if not any((CACHE / "runs").glob("*")):
            drop(CACHE / "images", "*", [origin.folder])
        made = Machine(shape, origin, kernel)
    try:
        name = f"{shape.name}-{kernel}"
        with locked(name):
            made.load(ready(made, name))
        reset(made, bare=bare)
    except BaseException:
        made.close()
        raise
    return made


def reset(made: Machine, *, bare: bool = False) -> None:
    """Make a machine, whatever has become of it, what it was when `machine` gave it out; in seconds."""
    made.restore()
    if bare:
        made.ssh.remove([HOME, *INSTALLED])
    else:
        renew(made, code())


def ready(made: Machine, name: str) -> Path:
    """The folder of the state to restore from; made by way of this machine if the cache has none, or on demand."""
    states = CACHE / "states"
    firmware = made.shape.firmware.read_text(encoding="utf-8") if made.shape.firmware else ""
    parts = (call("qemu-system-x86_64", "--version"), *MACHINE, *made.line, firmware, WARM_UP)
    state = states / f"{name}-{digest(*parts)}"
    drop(states, f"{name}-*", [state])
    files = code()
    known = state.exists()
    if known and (os.environ.get("LAB_SAVE") != "1" or manifest(state) == hashes(files)):
        return state
    if known:
        made.load(state)
        made.restore(plug=False)
        renew(made, files)
    else:
        boot(made)
        made.ssh.unpack(files, HOME)
    made.run(WARM_UP)
    made.save(state, {MANIFEST: json.dumps(hashes(files))})
    return state


def boot(made: Machine) -> None:
    """The first boot, in which nothing is under test yet: once more where the kernel hangs, as it does rarely."""
    try:
        made.boot(plug=False)
    except SilentError:
        made.cut()
        made.boot(plug=False)


def renew(made: Machine, files: Mapping[str, bytes]) -> None:
    """Make the code in a machine that was just restored the one given."""
    held, wanted = manifest(made.folder), hashes(files)
    if gone := [*(held.keys() - wanted.keys()), *(folders(held) - folders(wanted))]:
        made.ssh.remove([f"{HOME}/{path}" for path in sorted(gone)])
    if changed := {path: files[path] for path, content in wanted.items() if held.get(path) != content}:
        made.ssh.unpack(changed, HOME)


def manifest(state: Path) -> dict[str, str]:
    """The hashes of the code in a state."""
    found: dict[str, str] = json.loads((state / MANIFEST).read_text(encoding="utf-8"))
    return found


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Path -> SHA-256 of the content."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}


def folders(paths: Mapping[str, str]) -> set[str]:
    """All folders that these files are in, at any depth."""
    return {str(parent) for path in paths for parent in PurePath(path).parents[:-1]}


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
