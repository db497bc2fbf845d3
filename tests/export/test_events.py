"""The udev rules and the hooks: what they say, and that the real programs take them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from numatune.export import events

NIC, GPU = "0000:41:00.0", "0000:81:00.0"
START = "start --no-block numatune-irq.service\n"


def test_a_rule_for_each_device_and_one_for_interfaces() -> None:
    text = events.rules([GPU, NIC, NIC, "virtio-mmio.0"])
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    wants = 'TAG+="systemd", ENV{SYSTEMD_WANTS}+="numatune-irq.service"'
    assert lines == [
        f'ACTION=="bind", SUBSYSTEM=="pci", KERNEL=="{NIC}", {wants}',
        f'ACTION=="bind", SUBSYSTEM=="pci", KERNEL=="{GPU}", {wants}',
        f'ACTION=="add|move", SUBSYSTEM=="net", DEVPATH!="/devices/virtual/*", {wants}',
    ]


def test_udev_takes_the_rules(tmp_path: Path) -> None:
    program = shutil.which("udevadm", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None or "verify" not in subprocess.run([program, "--help"], capture_output=True, text=True).stdout:  # noqa: PLW1510
        pytest.skip("no udevadm with `verify` (systemd 254) is installed")
    file = tmp_path / "99-zz-numatune.rules"
    file.write_text(events.rules([NIC, GPU]), encoding="utf-8")
    ran = subprocess.run([program, "verify", str(file)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("text", "words", "asked"),
    [
        (events.hook(), (), START),
        (events.hook_of_network_manager(), ("ens1", "up"), START),
        (events.hook_of_network_manager(), ("ens1", "dhcp4-change"), ""),
    ],
    ids=["networkd-dispatcher", "NetworkManager up", "NetworkManager, something else"],
)
def test_a_hook_asks_for_the_unit_and_does_not_wait(
    text: str, words: tuple[str, ...], asked: str, tmp_path: Path
) -> None:
    systemctl, hook = tmp_path / "systemctl", tmp_path / "90-numatune"
    systemctl.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    hook.write_text(text, encoding="utf-8")
    for script in (systemctl, hook):
        script.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run([hook, *words], capture_output=True, text=True, check=False, env=environment)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == asked
