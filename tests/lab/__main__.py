"""``python -m lab SHAPE``: a machine with this checkout's numatune, and a shell in it; it ends with the shell.

``up NAME SHAPE`` starts one without numatune that stays until ``down NAME...``, and prints how to reach it as JSON;
``down`` alone ends all that stay. ``keep`` is what ``up`` leaves running. ``image`` builds what guests are made of, if
the cache has none.
"""

from __future__ import annotations

import json
import subprocess
import sys

from lab import standing
from lab.base import LabError, locked, missing
from lab.image import image
from lab.shapes import SHAPES
from lab.warm import machine


def main(words: list[str]) -> int:
    """0 when done; 1 with one line where there is no machine to have."""
    if reason := missing():
        print(reason, file=sys.stderr)
        return 1
    try:
        match words:
            case ["up", name, shape]:
                print(json.dumps(standing.up(name, shape)))
            case ["down", *names]:
                down(names or standing.standing())
            case ["keep", name, shape]:
                standing.keep(name, shape)
            case ["image"]:
                with locked():
                    image()
            case _:
                shell(words[0] if words else "nps2")
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def down(names: list[str]) -> None:
    """End them, and say which of them ran."""
    for name in names:
        if standing.down(name):
            print(f"{name} ended")


def shell(name: str) -> None:
    """A shell in a fresh machine of a shape."""
    if name not in SHAPES:
        raise LabError(f"no shape {name}; there are: {', '.join(SHAPES)}")
    print(f"starting {name}; the first time takes some minutes", file=sys.stderr)
    with machine(SHAPES[name]) as made:
        print(f"process {made.qemu.pid}, ssh at port {made.ssh.port}; exit ends the machine", file=sys.stderr)
        subprocess.run([*made.ssh.argv[:1], "-t", *made.ssh.argv[1:]], cwd=made.folder, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
