"""``numatune reapply``, by hand and at boot: what it brings back, with what leave, and what it loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest  # noqa: TC002  # one import block reads better than two
from fakes.commands import typed
from fakes.reboots import (
    MIN_FREE,
    NIC,
    PROFILE,
    SWAPPINESS,
    Host,
    mask,
)

from numatune.api import log
from numatune.settings.persisted import SYSCTL_D


def test_interrupts_alone(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.kernel.put(mask(host), "0-7\n")
    host.kernel.put(SWAPPINESS, "60\n")
    said = typed("reapply", "--only", "irq")
    assert (said.code, host.held(mask(host)), host.held(SWAPPINESS)) == (0, "2", "60")
    assert f"irq:{NIC}/1" in said.out
    assert typed("reapply", "--only", "colour").err == (
        "numatune: --only: nothing of 'colour' is applied; accepted: cpusets, irq, net_queues, persist, sysctl, thp\n"
    )


def test_reapply_is_no_run(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    runs = sorted((host.folder / "state" / "runs").iterdir())
    applied = (host.folder / "state" / "applied.json").read_bytes()
    host.reboot()
    host.kernel.put(SWAPPINESS, "60\n")
    typed("reapply")
    assert sorted((host.folder / "state" / "runs").iterdir()) == runs
    assert (host.folder / "state" / "applied.json").read_bytes() == applied
    assert [run["run"] for run in typed("history", "--json").json["runs"]] == [1]


def test_what_is_held_is_left_alone(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    typed("hold", "sysctl:vm.stat_interval", "--for", "1h", "--why", "test")
    said = host.reboot()
    assert said
    assert (said.code, host.held("/proc/sys/vm/stat_interval")) == (0, "1")


def test_without_an_applied_set_it_says_so(host: Host) -> None:
    said = typed("reapply", "--boot")
    assert (said.code, said.err) == (
        1,
        "numatune: reapply: nothing is applied on this host (numatune apply PROFILE)\n",
    )
    assert host.kernel.log == []


def test_a_boot_loads_the_standard_library_only(host: Host) -> None:
    host.apply(PROFILE, "--persist")
    host.reboot(boot_unit=False)
    kernel = {**host.kernel.files, **{path: f"-> {target}" for path, target in host.kernel.links.items()}}
    (host.folder / "kernel.json").write_text(json.dumps([kernel, host.kernel.modes]), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", REAPPLY, str(host.folder)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    loaded, put_back = json.loads(ran.stdout)
    assert "numatune.api.reapplying" in loaded
    assert put_back >= 5
    heavy = ("pydantic", "jinja2", "yaml", "rich", "pytest", "numatune.profile", "numatune.knobs", "numatune.export")
    assert [name for name in loaded if name.startswith(heavy)] == []


REAPPLY = """
import json, sys
from pathlib import Path
sys.path.insert(0, ".")
from fakes.kernel import FakeKernel
before = set(sys.modules)
from numatune.engine import paths
folder = Path(sys.argv[1])
paths.lock = lambda root="/": str(folder / "lock")
paths.state = lambda root="/": str(folder / "state")
from numatune import api
tree, modes = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
found = api.reapply(FakeKernel(tree, modes=modes), boot=True)
assert not found.anew, found.anew
print(json.dumps([sorted(set(sys.modules) - before), sum(row.repaired for row in found.rows)]))
"""
LEAVE = """\
name: leave
sysctl: {vm.min_free_kbytes: 4000000, vm.compaction_proactiveness: 30}
"""


def test_what_needed_leave_is_left_to_the_boot_unit_which_has_it_too(host: Host) -> None:
    allowed = ("--allow-unsafe", "sysctl:vm.min_free_kbytes", "--allow-disruption")
    assert host.apply(LEAVE, "--persist", *allowed).code == 0
    assert SYSCTL_D not in host.kernel.files
    host.reboot(boot_unit=False)
    said = typed("reapply", "--boot")
    assert (said.code, host.held(MIN_FREE)) == (0, "4000000")
    assert host.held("/proc/sys/vm/compaction_proactiveness") == "30"
    assert typed("drift").screen == ""
    host.kernel.put(MIN_FREE, "67584\n")
    assert typed("reapply", "--boot").code == 0
    assert host.held(MIN_FREE) == "67584", "once in a boot: work may run by now"
    host.reboot(boot_unit=False)
    said = typed("reapply")
    assert (said.code, host.held(MIN_FREE)) == (2, "67584"), "by hand it has none"


def test_what_had_no_leave_at_the_apply_has_none_at_boot(host: Host) -> None:
    assert host.apply(LEAVE, "--persist").code == 2
    said = host.reboot()
    assert said
    assert (said.code, host.held(MIN_FREE)) == (0, "67584")
    assert host.held("/proc/sys/vm/compaction_proactiveness") == "20"


def test_a_boot_that_does_not_get_there_says_so_and_ends_with_0(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "line", lines.append)
    host.apply(PROFILE, "--persist")
    host.reboot(boot_unit=False)
    host.kernel.modes["/proc/sys/vm/stat_interval"] = 0o444
    said = typed("reapply", "--boot")
    assert said.code == 0
    assert "sysctl:vm.stat_interval" in said.out
    assert lines[-1] == "at boot 1 settings are not as applied: sysctl:vm.stat_interval"
    assert typed("reapply").code == 2
    assert typed("reapply", "--differences-ok").code == 0
    (row,) = [row for row in typed("drift", "--json").json["settings"] if row["counted"]]
    assert row["letters"] == "R!", "a refused write has not brought it back"
    host.kernel.modes.clear()
    host.kernel.put("/proc/sys/vm/stat_interval", "7\n")
    assert typed("rollback", "--yes").code == 0
    assert host.held("/proc/sys/vm/stat_interval") == "7", "not numatune's in this boot"
