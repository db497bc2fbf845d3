"""``python -m lab SHAPE``: a machine with this checkout's numatune, and a shell in it; it ends with the shell."""

from __future__ import annotations

import subprocess
import sys

from lab.base import LabError, missing
from lab.shapes import SHAPES
from lab.warm import machine


def main(words: list[str]) -> int:
    """0 after a shell; 1 with one line where there is no machine to have."""
    name = words[0] if words else "nps2"
    if name not in SHAPES:
        print(f"no shape {name}; there are: {', '.join(SHAPES)}", file=sys.stderr)
        return 1
    if reason := missing():
        print(reason, file=sys.stderr)
        return 1
    print(f"starting {name}; the first time takes some minutes", file=sys.stderr)
    try:
        with machine(SHAPES[name]) as made:
            print(f"process {made.qemu.pid}, ssh at port {made.ssh.port}; exit ends the machine", file=sys.stderr)
            subprocess.run([*made.ssh.argv[:1], "-t", *made.ssh.argv[1:]], cwd=made.folder, check=False)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
