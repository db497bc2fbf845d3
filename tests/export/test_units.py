"""The units as systemd reads them."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from numatune.export import units
from numatune.export.place import Place
from numatune.settings.persisted import BOOT, IRQ, REPAIR, TIMER

TRUE = shutil.which("true") or "/bin/true"
PLACE = Place(program=(TRUE,))
EVERY = {
    BOOT: units.boot(PLACE, ["inference.slice", "system.slice", "systemd-udevd.service", "tuned.service"]),
    IRQ: units.irq(PLACE),
    REPAIR: units.repair(PLACE),
    TIMER: units.timer(PLACE),
}


def read(text: str) -> dict[str, dict[str, str]]:
    """Sections with their last assignments."""
    parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#",), delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


def verified(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What systemd says of units, found by name in a folder before all others."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    argv = [program, "verify", "--man=no", *words]
    path = {"SYSTEMD_UNIT_PATH": f"{folder}:"}
    return subprocess.run(argv, env=path, capture_output=True, text=True, check=False)


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    for unit, text in EVERY.items():
        (tmp_path / unit).write_text(text, encoding="utf-8")
    ran = verified(tmp_path, "--recursive-errors=no", *(str(tmp_path / unit) for unit in EVERY))
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if "numatune" in line]) == (0, [])


def test_the_boot_unit_comes_after_the_tuners_and_before_the_work() -> None:
    unit = read(EVERY[BOOT])
    after, before = unit["Unit"]["After"].split(), unit["Unit"]["Before"].split()
    assert {"systemd-sysctl.service", "systemd-tmpfiles-setup.service", "tuned.service"} <= set(after)
    assert {"kubelet.service", "slurmd.service", "containerd.service", "docker.service"} <= set(before)
    assert "inference.slice" in before
    assert not {"system.slice", "systemd-udevd.service"} & set(before), "it is in, or after, those itself"
    assert not set(after) & set(before)
    service = unit["Service"]
    waits = int(service["ExecStartPre"].rpartition("=")[2])
    limit, stop = (int(service[name]) for name in ("TimeoutStartSec", "TimeoutStopSec"))
    assert waits <= limit, "the limit is for each command, and begins anew with the next"
    assert waits + limit + stop == units.START_LIMIT == 120
    assert service["ExecStart"] == f"{TRUE} reapply --boot"
    assert unit["Install"] == {"WantedBy": "multi-user.target"}
    assert not any(key.startswith(("Require", "Binds")) for section in unit.values() for key in section)


def test_what_the_tuners_wait_for_makes_no_circle(tmp_path: Path) -> None:
    """tuned.service says After=network.target dbus.service polkit.service; what brings the network up, Before= it."""
    before = (
        "NetworkManager.service",
        "networking.service",
        "polkit.service",
        "firewalld.service",
        "cloud-init.service",
    )
    stub = f"[Service]\nExecStart={TRUE}\n"
    files = dict.fromkeys(before, f"[Unit]\nWants=network.target\nBefore=network.target\n{stub}")
    files["tuned.service"] = f"[Unit]\nAfter=network.target dbus.service polkit.service\n{stub}"
    files[BOOT] = units.boot(PLACE, [*before, "inference.slice"])
    files["all.target"] = f"[Unit]\nWants={' '.join(files)}\n"
    for unit, text in files.items():
        (tmp_path / unit).write_text(text, encoding="utf-8")
    assert "cycle" not in verified(tmp_path, "all.target").stderr


def test_what_comes_up_before_the_boot_unit_can_makes_no_circle(tmp_path: Path) -> None:
    """auditd says Before=sysinit.target, which every service comes after; multipathd comes before what is mounted."""
    early = {"auditd.service": "sysinit.target", "multipathd.service": "local-fs-pre.target"}
    for unit, target in early.items():
        text = f"[Unit]\nDefaultDependencies=no\nBefore={target}\n[Service]\nExecStart={TRUE}\n"
        (tmp_path / unit).write_text(text, encoding="utf-8")
    (tmp_path / BOOT).write_text(units.boot(PLACE, [*early, "inference.slice", "inference-a.slice"]), encoding="utf-8")
    (tmp_path / "local-fs.target").write_text("[Unit]\nWants=local-fs-pre.target\nAfter=local-fs-pre.target\n")
    (tmp_path / "all.target").write_text(f"[Unit]\nWants=local-fs.target {BOOT} {' '.join(early)}\n")
    assert "cycle" not in verified(tmp_path, "all.target").stderr


def test_the_work_of_the_irq_unit_is_its_stopping() -> None:
    """See the module: a start that is asked for while it works must not be dropped."""
    service = read(EVERY[IRQ])["Service"]
    assert service["Type"] == "exec"
    assert service["ExecStart"] == "/bin/sleep 2"
    assert service["ExecStop"] == f"{TRUE} reapply --only irq,net_queues --differences-ok"


@pytest.mark.parametrize(
    ("argv", "spelled"),
    [
        (("/opt/numatune/current/bin/numatune",), "/opt/numatune/current/bin/numatune"),
        (("/usr/bin/python3", "-P", "-m", "numatune"), "/usr/bin/python3 -P -m numatune"),
        (("/opt/my tools/numatune",), '"/opt/my tools/numatune"'),
        (('/opt/50%/a"b\\c$d/numatune',), '"/opt/50%%/a\\"b\\\\c$$d/numatune"'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_program_is_quoted_as_systemd_reads_it(argv: tuple[str, ...], spelled: str) -> None:
    assert f"\nExecStart={spelled} reapply --boot\n" in units.boot(Place(program=argv))


def test_a_state_folder_elsewhere_is_told_to_every_service() -> None:
    place = Place(program=(TRUE,), environment=(("NUMATUNE_STATE_DIR", "/srv/the state"),))
    for text in (units.boot(place), units.irq(place), units.repair(place)):
        assert read(text)["Service"]["Environment"] == '"NUMATUNE_STATE_DIR=/srv/the state"'
