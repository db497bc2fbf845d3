"""What numatune costs beside its peers, as ratios of one run on one machine. Prints; asserts nothing.

    make bench

Forty plain network sysctls are asked to be what they are already, so that nobody changes anything:

    numatune drift          against   tuned, one-shot (daemon = 0), the same forty
    numatune --help         beside    a bare interpreter
    numatune_profile        against   forty ansible.posix.sysctl tasks, each less an empty play (plays.py)
    the role, nothing to do  against  the same forty

CPU seconds are user plus system of the whole process tree. Commands take turns and a ratio is the median of
the pairs' ratios, so a machine that slows down slows both. Runs in a mount namespace of its own: TuneD's configuration
there is ours and the host's is not touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import plays
from measure import cost, row

CHECKOUT = Path(__file__).resolve().parents[2]
NUMATUNE = (sys.executable, "-I", "-m", "numatune")
KNOBS = 40
PAIRS = 9
INSIDE = "NUMATUNE_BENCH_NAMESPACE"


def main() -> int:
    """Prepare, take turns, print. Exit 1 with a sentence when something that is needed cannot be had."""
    if os.geteuid() != 0:
        print("make bench needs root: it installs TuneD and runs it in a mount namespace", file=sys.stderr)
        return 1
    if INSIDE not in os.environ:
        install()
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__])  # noqa: S606, S607  # our own file, by PATH
    with tempfile.TemporaryDirectory(prefix="numatune-bench-") as folder:
        run_all(Path(folder))
    return 0


def install() -> None:
    """TuneD from apt, Ansible into a virtual environment of its own beside the project's."""
    if not shutil.which("tuned"):
        subprocess.run(
            ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "tuned"],  # noqa: S607  # the system's own
            check=True,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
        )
    if not ansible().exists():
        venv = ansible().parents[1]
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/python", "-m", "pip", "--quiet", "install", "ansible>=12,<13"], check=True)


def ansible() -> Path:
    """The ansible-playbook of the bench's own virtual environment."""
    return CHECKOUT / ".venv-bench/bin/ansible-playbook"


def run_all(folder: Path) -> None:
    """All comparisons, in a scratch folder."""
    held = harmless_sysctls()
    state = {**os.environ, "NUMATUNE_STATE_DIR": str(folder / "state")}
    (folder / "forty.yaml").write_text(
        "name: forty\nsysctl:\n" + "".join(f"  {key}: {value}\n" for key, value in held.items())
    )
    subprocess.run(
        [*NUMATUNE, "apply", folder / "forty.yaml", "--yes"], check=True, env=state, stdout=subprocess.DEVNULL
    )
    drift = (*NUMATUNE, "drift")
    print(f"{len(held)} sysctls, nothing to do; CPU seconds, median of {PAIRS} runs in turns\n")
    with tuned_configuration(folder, held):
        compare("numatune drift", drift, "tuned --no-dbus (one-shot)", ("tuned", "--no-dbus", "-p", "forty"), env=state)
    compare(
        "numatune --help", (*NUMATUNE, "--help"), "python3 -I -c pass", (sys.executable, "-I", "-c", "pass"), env=state
    )
    plays.compare(ansible(), folder, held, state)


def harmless_sysctls() -> Mapping[str, str]:
    """Forty integers of net.ipv4 as they are now: writing one back (as TuneD 2.20 does) changes nothing."""
    held: dict[str, str] = {}
    for path in sorted(Path("/proc/sys/net/ipv4").glob("tcp_*")) + sorted(Path("/proc/sys/net/ipv4").glob("i*")):
        if path.is_file() and path.stat().st_mode & 0o200 and path.stat().st_mode & 0o400:
            text = path.read_text().strip()
            if text.isdecimal() and len(held) < KNOBS:
                held[f"net.ipv4.{path.name}"] = text
    return held


@contextlib.contextmanager
def tuned_configuration(folder: Path, held: Mapping[str, str]) -> Iterator[None]:
    """A copy of /etc/tuned with our profile and daemon = 0, mounted over it in this namespace only."""
    copy = folder / "tuned"
    shutil.copytree("/etc/tuned", copy)
    main_conf = copy / "tuned-main.conf"
    main_conf.write_text(main_conf.read_text().replace("daemon = 1", "daemon = 0"))
    (copy / "forty").mkdir()
    (copy / "forty/tuned.conf").write_text("[sysctl]\n" + "".join(f"{key}={value}\n" for key, value in held.items()))
    subprocess.run(["mount", "--bind", copy, "/etc/tuned"], check=True)  # noqa: S607  # the system's own
    try:
        yield
    finally:
        subprocess.run(["umount", "/etc/tuned"], check=True)  # noqa: S607  # the system's own


def compare(name: str, ours: Sequence[str], peer_name: str, peer: Sequence[str], *, env: Mapping[str, str]) -> None:
    """Take turns and print both medians and the median ratio."""
    pairs = [(cost(ours, env).cpu, cost(peer, env).cpu) for _ in range(PAIRS + 1)][1:]
    ratio = statistics.median(a / b for a, b in pairs)
    row(name, statistics.median(a for a, _ in pairs), peer_name, statistics.median(b for _, b in pairs), ratio)


if __name__ == "__main__":
    sys.exit(main())
