"""Run by test_rebinding.py in a mount namespace: two stand-in devices that nobody else sees, and workers that use them.

The stand-ins are character devices with the numbers of /dev/zero and /dev/full. One worker is in a container of sorts,
where its device has the other one's name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from launch.test_rebinding import child

from numatune.launch import opened

FOLDER = Path(sys.argv[1])
CPUS = sorted(os.sched_getaffinity(0))
PCI, DRIVER = "/sys/bus/pci/devices", "/proc/driver"
RENAMED = """
import ctypes, os, subprocess
ctypes.CDLL(None).unshare(0x20000)  # a mount namespace
subprocess.run(['/usr/bin/mount', '-t', 'tmpfs', 'tmpfs', '/dev'], check=True)
os.mknod('/dev/nvidia0', 0o20666, os.makedev(1, 7))
held = open('/dev/nvidia0')
"""
"""The second device, as a container has it by ``--device /dev/nvidia1:/dev/nvidia0``."""
ADDRESSES = ("0000:11:00.0", "0000:12:00.0")


def laid(files: dict[str, str], where: str) -> None:
    """A tree of the test's own over a folder of the kernel."""
    subprocess.run(["/usr/bin/mount", "-t", "tmpfs", "tmpfs", where], check=True)
    for path, text in files.items():
        (Path(where) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(where) / path).write_text(text)


def hosted() -> None:
    """Two accelerators at this machine's first node."""
    node = min(int(path.name[4:]) for path in Path("/sys/devices/system/node").glob("node[0-9]*"))
    facts = {"class": "0x030200\n", "vendor": "0x10de\n", "device": "0x2330\n", "numa_node": f"{node}\n"}
    laid({f"{address}/{name}": text for address in ADDRESSES for name, text in facts.items()}, PCI)
    told = {f"nvidia/gpus/{address}/information": f"Device Minor: {place}\n" for place, address in enumerate(ADDRESSES)}
    laid(told, DRIVER)
    laid({}, "/dev")
    for name, minor in (("nvidia0", 5), ("nvidia1", 7), ("null", 3), ("urandom", 9)):
        os.mknod(f"/dev/{name}", 0o20666, os.makedev(1, minor))


def numatune(*words: str, code: int = 0) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "numatune", *words, "--json"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == code, (words, ran.returncode, ran.stdout, ran.stderr)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def main() -> None:
    """Two workers of a device each, that may run anywhere, then each on its device's share."""
    hosted()
    profile = FOLDER / "share.yaml"
    profile.write_text("name: share\nlaunch: {cpu: exclusive}\n")
    half = len(CPUS) // 2
    shares = [CPUS[: len(CPUS) - half], CPUS[len(CPUS) - half :]]
    with ExitStack() as running:
        pids = [running.enter_context(child(code)) for code in (RENAMED, "held = open('/dev/nvidia0')")]
        asked = ["ps", "--fix", "--profile", str(profile), *(word for pid in pids for word in ("--pid", str(pid)))]
        planned = numatune(*asked, "--check", code=2)["processes"]
        assert [len(row["outside"]) for row in planned] == [3, 3]
        assert {str(opened.allowed(pid, pid)) for pid in pids} == {str(opened.allowed(os.getpid(), os.getpid()))}
        done = numatune(*asked, "--yes")["processes"]
        for place, row in zip((1, 0), sorted(done, key=lambda row: pids.index(row["pid"])), strict=True):
            assert row["devices"] == [ADDRESSES[place]], row
            assert (len(row["bound"]), row["refused"]) == (3, []), row
            real = [sorted(opened.allowed(row["pid"], thread) or ()) for thread in opened.threads(row["pid"])]
            assert real == [shares[place]] * 3, (row, real)
        again = numatune(*asked, "--yes")["processes"]
        assert [row["bound"] for row in again] == [[], []]
        print(json.dumps(done))  # noqa: T201  # for who runs this


if __name__ == "__main__":
    main()
