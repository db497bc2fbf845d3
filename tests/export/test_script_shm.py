"""The exported script gives a memory policy back: no remount takes one off, and local is the nearest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.script_tree import inside, lay
from fakes.trees import host_tree

if TYPE_CHECKING:
    import pytest

MOUNT = """\
#!/bin/sh
sed -i "s/ none .*/ none rw,${2#remount,}/" %s/proc/self/mountinfo
"""


def test_local_is_the_way_back_to_no_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kernel = FakeKernel(host_tree() | {"/proc/mounts": "tmpfs /dev/shm tmpfs rw 0 0\n"})
    lend(kernel, tmp_path, monkeypatch)
    Path("kv.yaml").write_text("name: kv\nshm: {/dev/shm: {policy: interleave}}\n", encoding="utf-8")
    script = json.loads(typed("export", "kv.yaml", "--format", "script", "--json").out)["files"][0]["text"]
    host = lay(kernel, tmp_path / "host", script)
    file = tmp_path / "tune.sh"
    file.write_text(inside(script, host), encoding="utf-8")
    for name, text in (("mount", MOUNT % host), ("id", "#!/bin/sh\necho 0\n")):
        (host / "stubs" / name).write_text(text, encoding="utf-8")
        (host / "stubs" / name).chmod(0o755)

    def run(command: str) -> tuple[str, int]:
        done = subprocess.run(["sh", str(file), command], capture_output=True, text=True, check=False)  # noqa: S607
        return done.stdout + done.stderr, done.returncode

    mounts = host / "proc/self/mountinfo"
    said, code = run("apply")
    assert (code, "mpol=interleave:0-1" in mounts.read_text(encoding="utf-8")) == (0, True), said
    said, code = run("rollback")
    assert (code, "could not be given back" in said) == (0, False), said
    assert "mpol=local" in mounts.read_text(encoding="utf-8")
    assert run("rollback") == ("nothing to take back\n", 0)
