"""The exported script as a text: what shells and shellcheck say of it, which host it is for, and that it is safe."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.script_tree import inside, lay
from fakes.trees import host_tree

SHELLS = [["dash"], ["bash"], ["busybox", "sh"]]
EVERY_KIND = """\
name: every
version: "1; rm -rf /"
sysctl: {vm.swappiness: {value: 10, why: "for servers\\n$(touch /tmp/owned) `id`"}, vm.dirty_background_bytes: 1000000}
thp: {enabled: never}
hugepages: {2M: {per_node: 4}}
irq: {rules: [{match: {class: nic}, cpus: "2"}]}
net_queues: {rps: off}
cpusets: {inference.slice: {cpus: "1-3", mems: "0", memory_max: 1G, partition: root}}
shm: {/mnt/kv: {policy: interleave, size: 1G, huge: never}}
ksm: {run: 2, merge_across_nodes: 0}
modules: {nvidia_peermem: loaded, nouveau: absent}
services: {irqbalance: banned, numad: stopped, tuned: masked}
kernel_cmdline: {forbid: [numa=off]}
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a profile with every kind of setting."""
    monkeypatch.chdir(tmp_path)
    Path("every.yaml").write_text(EVERY_KIND, encoding="utf-8")
    lend(FakeKernel(host_tree(nics=1)), tmp_path, monkeypatch)
    done = typed("export", "every.yaml", "--format", "script", "--json")
    assert done.code == 0
    (file,) = json.loads(done.out)["files"]
    assert file["mode"] == "0755"
    return str(file["text"])


def test_shellcheck_finds_nothing(script: str, tmp_path: Path) -> None:
    program = shutil.which("shellcheck", path=str(Path(sys.executable).parent)) or shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")
    file = tmp_path / "tune.sh"
    file.write_text(script, encoding="utf-8")
    ran = subprocess.run([program, "--shell=sh", str(file)], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_every_shell_reads_it(shell: list[str], script: str) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"no {shell[0]}")
    ran = subprocess.run([*shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.returncode) == ("", 0)


def test_a_profiles_words_are_text_and_never_commands(script: str) -> None:
    lines = [line.strip() for line in script.splitlines()]
    assert "# for servers $(touch /tmp/owned) `id`" in lines
    assert [line for line in lines if "rm -rf /" in line and not line.startswith(("#", 'rm -rf "$'))] == []
    assert "eval" not in script


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ((), 64, "no command"),
        (("tune",), 64, "no command tune"),
        (("plan", "--fast"), 64, "no option --fast"),
        (("plan", "--only"), 64, "--only needs a value"),
        (("plan", "--force", "--only", "sysctl,nosuchsection"), 64, "no section nosuchsection; there are: services "),
        (("reapply", "--force", "--only", "nosuchsection"), 64, "no section nosuchsection; there are: services "),
        (("apply",), 1, "this host has CPUs 0-5, and this was made for one with CPUs 0-7"),
        (("plan", "--force", "--only", "sysctl"), 2, ""),
        (("plan", "--force", "--only", "sysctl", "--differences-ok"), 0, ""),
        (("--help",), 0, ""),
    ],
    ids=str,
)
def test_exit_codes(argv: tuple[str, ...], code: int, said: str, script: str, tmp_path: Path) -> None:
    tree = host_tree(nics=1) | {"/sys/devices/system/cpu/online": "0-5\n"}
    folder = lay(FakeKernel(tree), tmp_path / "host", script)
    file = tmp_path / "tune.sh"
    file.write_text(inside(script, folder), encoding="utf-8")
    ran = subprocess.run(["sh", str(file), *argv], capture_output=True, text=True, check=False)  # noqa: S607
    assert (ran.returncode, said in ran.stderr) == (code, True)


def test_what_is_carried_and_left_is_all_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("every.yaml").write_text(EVERY_KIND, encoding="utf-8")
    lend(FakeKernel(host_tree(nics=1)), tmp_path, monkeypatch)
    plan = json.loads(typed("plan", "every.yaml", "--json").out)
    wanted = {row["id"] for row in plan["settings"] if row["status"] != "not-applicable"}
    for target in ("sysctl.d", "tmpfiles.d", "systemd", "script", "ansible"):
        told = json.loads(typed("export", "every.yaml", "--format", target, "--json").out)
        left = {one["id"] for one in told["left"]}
        assert (set(told["carries"]) | left) == wanted
        assert not set(told["carries"]) & left
