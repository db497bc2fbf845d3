"""``python -m scale.apart HOST COMMAND...``, from tests/: a command on a pickled host, by a process of its own.

What it prints is the command's. The last line on standard error is the most memory that it held, in bytes, less what
the made-up host holds: by VmHWM, which begins anew with each program; ru_maxrss begins with what the process had that
started it.
"""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path

from numatune import api
from numatune.cli.main import main


def held(name: str) -> int:
    """A line of this process's memory, bytes."""
    (size,) = re.findall(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    return int(size) << 10


if __name__ == "__main__":
    bare = held("VmRSS")
    with Path(sys.argv[1]).open("rb") as file:
        host = pickle.load(file)  # noqa: S301  # the test's own
    made_up = held("VmRSS") - bare
    api.open_reader = lambda *_, **__: host
    code = main(sys.argv[2:])
    sys.stderr.write(f"{held('VmHWM') - made_up}\n")
    sys.exit(code)
