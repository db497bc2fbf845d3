"""What starting a command with `numatune run` costs, in CPU seconds beside a bare interpreter. Prints; asserts nothing.

    python tests/bench/start.py          as root: the table of apply must be root's

    run, with the table of an applied policy      run, worked out anew
    numactl -N0 -m0 true                          bash -c 'exec numactl ...', as engines' own wrappers do

Commands take turns, and a ratio is the median of the turns' ratios, so that a machine that slows down slows all.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT))

from numatune.host.local import LocalHost  # noqa: E402  # of this checkout
from numatune.launch import compiled, wording  # noqa: E402  # as above
from numatune.launch import host as launch_host  # noqa: E402  # as above
from numatune.launch.policy import Policy  # noqa: E402  # as above

TURNS = 15
WITH_TABLE = """
import sys
sys.path.insert(0, {checkout!r})
from numatune.launch import quick
quick.FILE = {file!r}
from numatune.cli.main import main
sys.exit(main(["run", "--", "true"]))
"""


def main() -> int:
    """Lay a table down where only root writes, take turns, print."""
    if os.geteuid() != 0:
        print("this needs root: a table that somebody else could have written is not used", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="numatune-bench-", dir="/run") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "launch"
        file.write_text(wording.text(Policy(), compiled.lines(launch_host.look(LocalHost()), Policy(), [])))
        file.chmod(0o644)
        show(commands(file))
    return 0


def commands(file: Path) -> dict[str, Sequence[str]]:
    """By name; numactl's where there is one."""
    python = (sys.executable, "-I", "-c")
    made: dict[str, Sequence[str]] = {
        "bare interpreter": (*python, "pass"),
        "run, with the table": (*python, WITH_TABLE.format(checkout=str(CHECKOUT), file=str(file))),
        "run, worked out anew": (*python, WITH_TABLE.format(checkout=str(CHECKOUT), file="/nonexistent")),
    }
    if numactl := shutil.which("numactl"):
        made["numactl"] = (numactl, "-N0", "-m0", "true")
        made["bash and numactl"] = ("/bin/bash", "-c", "exec numactl -N0 -m0 true")
    return made


def show(named: dict[str, Sequence[str]]) -> None:
    """A line each."""
    turns = [{name: cost(command) for name, command in named.items()} for _ in range(TURNS)]
    for name in named:
        ratio = statistics.median(turn[name] / turn["bare interpreter"] for turn in turns)
        spent = statistics.median(turn[name] for turn in turns)
        print(f"{name:24} {spent * 1000:7.1f} ms   ratio {ratio:5.2f}")


def cost(command: Sequence[str]) -> float:
    """User plus system seconds. Raises when it does not end with 0."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{command[0]} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
