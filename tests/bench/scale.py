"""What commands cost on a large host: 8 nodes, 1,024 CPUs, 64 accelerators, 256 to 4,096 interrupts. Prints only.

    python tests/bench/scale.py          as root

Each host is generated, laid on a tmpfs, and bound over /sys and /proc in a mount namespace of the command's own: read
by the same calls as a live one, with the kernel's time to make the texts left out. Hosts of all sizes take turns. The
slope is what one interrupt more costs, over the whole series and over its last doubling: linear where the two are one.
The largest has limits, and whether they are met is said: seconds depend on the machine, so that no test asserts them.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fakes.laid import lay  # of this checkout
from fakes.large import large_host  # as above
from measure import Cost, cost, median  # as above

SERIES = (256, 512, 1024, 2048, 4096)
TURNS = 3
MOST_CPU = 2.0
"""Seconds that a command may take on the largest host, and bytes that it may hold (tests/scale asserts these)."""
MOST_MEMORY = 150 << 20
NUMATUNE = (sys.executable, "-I", "-m", "numatune")
COMMANDS: Mapping[str, Sequence[str]] = {
    "plan llm-inference": ("plan", "llm-inference", "--differences-ok"),
    "drift llm-inference": ("drift", "llm-inference", "--differences-ok"),
    "topology": ("topology",),
    "place --ranks 64": ("place", "--ranks", "64"),
}
OVER = 'mount --bind "$1/sys" /sys && mount --bind "$1/proc" /proc && shift && exec "$@"'


def main() -> int:
    """Lay the hosts, take turns, print."""
    if os.geteuid() != 0:
        print("this needs root: it mounts, in a namespace of its own", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="numatune-bench-") as name, tmpfs(Path(name)) as folder:
        laying = multiprocessing.get_context("spawn").Process(target=laid, args=(folder,))
        laying.start()
        laying.join()
        if laying.exitcode:
            return 1
        env = {**os.environ, "NUMATUNE_STATE_DIR": str(folder / "state")}
        bare = median(cost((sys.executable, "-I", "-c", "pass"), env) for _ in range(TURNS))
        print(f"8 nodes, 1,024 CPUs, 64 accelerators; CPU seconds (a bare interpreter: {bare.cpu:.3f}), MiB at most")
        for title, words in COMMANDS.items():
            show(title, series(folder, words, env), bare)
    return 0


def laid(folder: Path) -> None:
    """All hosts, by a process of its own: the peak of a command starts with what the process that forks it has."""
    for interrupts in SERIES:
        lay(large_host(interrupts), folder / str(interrupts))


@contextmanager
def tmpfs(folder: Path) -> Iterator[Path]:
    """A tmpfs on a folder while it is needed."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "numatune-bench", folder], check=True)  # noqa: S607  # the system's own
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)  # noqa: S607  # as above


def series(folder: Path, words: Sequence[str], env: Mapping[str, str]) -> dict[int, Cost]:
    """The median cost by the number of interrupts."""
    rounds = [{size: cost(on(folder / str(size), words), env) for size in SERIES} for _ in range(TURNS)]
    peaks = {size: max(each[size].peak for each in rounds) for size in SERIES}
    costs = {size: median(each[size] for each in rounds) for size in SERIES}
    return {size: Cost(costs[size].cpu, costs[size].wall, peaks[size]) for size in SERIES}


def on(host: Path, words: Sequence[str]) -> list[str]:
    """The command line of numatune on a laid host."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", OVER, "sh", str(host), *NUMATUNE, *words]


def show(title: str, costs: Mapping[int, Cost], bare: Cost) -> None:
    """A line for each size, and the slopes."""
    print(f"\n{title}")
    for size, one in costs.items():
        print(
            f"  {size:5} interrupts {one.cpu:7.2f} s   {one.cpu / bare.cpu:6.1f} interpreters   {one.peak >> 20:4} MiB"
        )
    whole, last = slope(costs, SERIES[0], SERIES[-1]), slope(costs, SERIES[-2], SERIES[-1])
    each = statistics.fmean(costs[size].cpu for size in SERIES)
    print(f"  slope {whole * 1e6:.0f} µs an interrupt; over the last doubling {last * 1e6:.0f} µs", end="")
    print(f", ratio {last / whole:.2f}" if whole * SERIES[-1] > each / 10 else "; it hardly matters here")
    limits(costs[SERIES[-1]])


def limits(largest: Cost) -> None:
    """Whether they are met, and how."""
    for told, value, most, unit in (
        ("CPU", largest.cpu, MOST_CPU, "s"),
        ("memory", largest.peak / (1 << 20), MOST_MEMORY >> 20, "MiB"),
    ):
        print(f"  limit of {told} {most:g} {unit}: {'met' if value <= most else 'NOT met'}, {value:.3g} {unit}")


def slope(costs: Mapping[int, Cost], first: int, last: int) -> float:
    """Seconds of CPU for each interrupt more."""
    return (costs[last].cpu - costs[first].cpu) / (last - first)


if __name__ == "__main__":
    sys.exit(main())
