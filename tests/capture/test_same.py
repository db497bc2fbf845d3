"""What a capture says is what the host says: rows of plans, and the topology."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.shells import SHELLS, bare_path, lay_out
from fakes.trees import host_tree

from numatune import api
from numatune.capture import way
from numatune.capture.stream import parse
from numatune.host.protocol import Reader
from numatune.views import plan_json, topology_json

SHIPPED = sorted(path.stem for path in (Path(__file__).parents[2] / "profiles").glob("*.yaml"))

HOSTS: dict[str, dict[str, Any]] = {
    "two nodes": {"nodes": 2, "nics": 2, "nvmes": 1, "accelerators": 2},
    "threads, tiers, isolated": {
        "nodes": [0, 2],
        "threads": 2,
        "memory_only": [5],
        "tiers": {4: "0,2", 22: "5"},
        "isolated": "1",
        "nohz_full": "1",
        "offline": "3",
        "infiniband": 1,
    },
    "v1, old, no systemd": {"nodes": 1, "cgroup": "v1", "kernel": "5.15.0", "systemd": False, "nics": 1},
    "hybrid, arm": {"nodes": 2, "cgroup": "hybrid", "arch": "aarch64", "accelerators": 1},
    "nothing but nodes": {"nodes": 2, "cgroup": "none", "with_thp": False},
}

_BY_DESIGN = ("/proc/cmdline", "kernel_cmdline:")


def rows(reader: Reader, profile: str) -> list[Any]:
    """Without what the command line holds: of that only known parameters travel."""
    plan = plan_json.plan(api.plan(reader, api.Request(profiles=(profile,))))
    for row in plan["settings"]:
        if row["id"].startswith(_BY_DESIGN):
            del row["current"]
    return list(plan["settings"])


def topology(reader: Reader) -> dict[str, Any]:
    """Without the free memory, the name of the root, and the boot id, of which a capture has a hash."""
    found = topology_json.topology(api.topology(reader)[0], "")
    del found["host"]["boot_id"]
    for node in found["nodes"]:
        del node["free_bytes"]
    return found


@pytest.mark.parametrize("shape", HOSTS.values(), ids=HOSTS)
def test_a_generated_host(shape: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The live host's architecture is what its kernel says, a captured one's what its files tell."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=shape.get("arch", "x86_64")))
    folder = str(lay_out(host_tree(**shape), tmp_path / "host"))
    host = api.open_reader(folder, live=True)
    captured = api.open_reader(api.capture(str(tmp_path / "host.tar.xz"), root=folder).path)
    assert not captured.live
    assert topology(captured) == topology(host)
    for profile in SHIPPED:
        wanted = rows(host, profile)
        assert len(wanted) > 3
        assert rows(captured, profile) == wanted


@pytest.mark.parametrize("shell", SHELLS)
def test_every_posix_shell_takes_the_same(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = str(lay_out(host_tree(nodes=2, nics=1), tmp_path / "host"))
    api.capture(str(tmp_path / "one.tar"), root=folder)
    monkeypatch.setenv("PATH", str(bare_path(tmp_path / "bin", shell)))
    api.capture(str(tmp_path / "other.tar"), root=folder)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "other.tar").read_bytes()


@pytest.mark.live
@pytest.mark.parametrize("profile", SHIPPED)
def test_this_machine(profile: str, tmp_path: Path):
    captured = api.open_reader(api.capture(str(tmp_path / "host.tar.xz")).path)
    host = api.open_reader()
    assert topology(captured) == topology(host)
    wanted = rows(host, profile)
    assert len(wanted) > 3
    assert rows(captured, profile) == wanted


def test_an_unpacked_capture_says_the_same(tmp_path: Path):
    folder = str(lay_out(host_tree(nodes=2, nics=1), tmp_path / "host"))
    made = api.capture(str(tmp_path / "host.tar.xz"), root=folder)
    with tarfile.open(made.path) as archive:
        archive.extractall(tmp_path / "unpacked")  # noqa: S202  # our own archive
    unpacked, packed = api.open_reader(str(tmp_path / "unpacked")), api.open_reader(made.path)
    assert topology(unpacked) == topology(packed)
    assert rows(unpacked, "llm-inference") == rows(packed, "llm-inference")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="becomes somebody else, which needs root")
def test_it_needs_no_root(tmp_path: Path):
    script = tmp_path / "script"  # what runs as nobody is the shell alone
    script.write_text(way.script(way.here(), "mark", ()), encoding="utf-8")
    with script.open() as asked:
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh"],  # noqa: S607
            stdin=asked,
            capture_output=True,
            check=True,
        )
    taken = parse(done.stdout, "mark", "here")
    assert done.stderr == b""
    assert "/proc/interrupts" in taken.texts
    assert "/sys/devices/system/node/node0/meminfo" in taken.texts
