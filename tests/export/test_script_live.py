"""The exported script on this machine's own kernel, in every shell: applied, found clean by numatune, given back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.commands import typed

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="writes to the kernel: needs root"),
]

SHELLS = [["dash"], ["bash"], ["busybox", "sh"]]
FILES = {
    "/proc/sys/vm/stat_interval": ("sysctl", 'vm.stat_interval: ">= 7"', "7"),
    "/proc/sys/vm/page-cluster": ("sysctl", "vm.page-cluster: 2", "2"),
    "/proc/sys/vm/dirty_background_bytes": ("sysctl", "vm.dirty_background_bytes: 200000000", "200000000"),
    "/sys/kernel/mm/transparent_hugepage/defrag": ("thp", "defrag: defer", "[defer]"),
    "/sys/kernel/mm/ksm/sleep_millisecs": ("ksm", "sleep_millisecs: 33", "33"),
}
MOVED = ("/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/min_free_kbytes")
STATES = ("/run/numatune-exported", "/var/lib/numatune-exported")


def held() -> dict[str, str]:
    return {path: Path(path).read_text(encoding="ascii") for path in (*FILES, *MOVED) if Path(path).exists()}


@pytest.fixture
def before() -> Iterator[dict[str, str]]:
    """What the files hold; put back whatever happens, ratios first: a written 0 of bytes is none."""
    if any(Path(folder).exists() for folder in STATES):
        pytest.skip("an exported set is applied on this machine")
    found = held()
    try:
        yield found
    finally:
        for path in (*FILES, *MOVED):
            text = found.get(path, "").strip()
            chosen = text.partition("[")[2].partition("]")[0] or text
            if path in found and Path(path).read_text(encoding="ascii") != found[path] and chosen != "0":
                Path(path).write_text(chosen, encoding="ascii")
        for folder in STATES:
            shutil.rmtree(folder, ignore_errors=True)


def run(shell: list[str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*shell, "tune.sh", *argv], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_it_applies_and_gives_back(
    shell: list[str], before: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"no {shell[0]}")
    monkeypatch.chdir(tmp_path)
    sections: dict[str, list[str]] = {}
    for path, (section, line, _) in FILES.items():
        if path in before:
            sections.setdefault(section, []).append(line)
    text = "".join(f"{name}: {{{', '.join(lines)}}}\n" for name, lines in sections.items())
    Path("live.yaml").write_text(f"name: live\n{text}", encoding="utf-8")
    assert typed("export", "live.yaml", "--format", "script", "--output", "tune.sh").code == 0

    applied = run(shell, "apply")
    assert (applied.stderr, applied.returncode) == ("", 0)
    assert all(FILES[path][2] in now.split() for path, now in held().items() if path in FILES)
    assert typed("plan", "live.yaml").code == 0
    assert run(shell, "apply").stdout == "changed: 0, differ: 0\n"
    assert run(shell, "rollback").returncode == 0
    assert held() == before
    assert not any(Path(folder).exists() for folder in STATES)
