"""A root that forgets: what is to survive a reboot is not written where it would not, and that is said."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.reports import changed, failed, rows

pytestmark = [pytest.mark.lab, pytest.mark.matrix]

PROFILE = "name: kept\nsysctl: {vm.swappiness: 7}\n"
UPPER = "/run/upper/layer"
LAYERS = f"lowerdir=/etc,upperdir={UPPER},workdir=/run/upper/work"
OVERLAY = f"mkdir -p {UPPER} /run/upper/work && mount -t overlay overlay /etc -o {LAYERS}"
IN_MEMORY = {
    "overlay": (OVERLAY, "umount --lazy /etc", f"on an overlay whose changes are in memory (/etc, {UPPER})"),
    "tmpfs": (
        "mount -t tmpfs tmpfs /etc/systemd/system",
        "umount --lazy /etc/systemd/system",
        "in memory (tmpfs on /etc/systemd/system)",
    ),
    "state": (
        "mkdir -p /var/lib/numatune && mount -t tmpfs tmpfs /var/lib",
        "umount --lazy /var/lib",
        "in memory (tmpfs on /var/lib)",
    ),
}


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_files_are_not_put_where_a_reboot_takes_them(kind: str, single: Machine) -> None:
    over, off, why = IN_MEMORY[kind]
    single.ssh.put({"/root/kept.yaml": PROFILE})
    told = single.batch(
        {
            "over": over,
            "apply": "numatune apply /root/kept.yaml --persist --yes --json",
            "ours": "grep -l numatune -r /etc/sysctl.d /etc/systemd/system /etc/udev/rules.d; true",
            "rollback": "numatune rollback --all --yes --json",
            "off": off,
            "later": "numatune apply /root/kept.yaml --persist --yes --json",
            "taken": "numatune rollback --all --yes --json",
        }
    )
    assert failed(told, apply=2) == {}
    root = rows(told["apply"])["persist:root"]
    assert root["status"] == "unsupported"
    assert why in root["reason"]
    assert changed(told["apply"]) == {"sysctl:vm.swappiness"}
    assert told["ours"].out == ""
    assert {row.partition(":")[0] for row in changed(told["later"])} == {"sysctl", "persist"}
