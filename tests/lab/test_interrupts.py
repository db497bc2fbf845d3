"""Interrupts on a NIC with a node, a driver that is bound again, a link that goes down, an irqbalance that runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.machine import Machine
from lab.powers import queues
from lab.reports import INTERRUPTS, STATE, changed, failed, moved, rows, summary
from lab.ssh import Answer

pytestmark = pytest.mark.lab

NIC, NVME = "0000:41:00.0", "0000:21:00.0"
LINK = "enp65s0"
MASKS = f"""
for number in $(ls /sys/bus/pci/devices/{NIC}/msi_irqs); do echo "$MASK" > /proc/irq/$number/smp_affinity_list; done
"""
# Queues on the CPUs of the NIC's package in turn; what only its name tells from them, elsewhere. By itself the kernel
# keeps a device's new interrupts on its node: CPU 1.
PLACED = """\
name: placed
irq:
  rules:
    - {match: {class: nic, driver: vmxnet3, vector: "*-event-*"}, cpus: "3"}
    - {match: {class: nic, driver: vmxnet3}, cpus: 0-1, spread: core}
    - {match: {class: nvme}, cpus: "0"}
"""
# Where irqbalance would never put it: on another node's CPU.
FAR = """\
name: far
irq: {rules: [{match: {class: nic, driver: vmxnet3}, cpus: "3"}]}
services: {irqbalance: banned}
"""
REBIND = f"""
cd /sys/bus/pci/drivers/vmxnet3 && echo {NIC} > unbind && echo {NIC} > bind && udevadm settle
for try in $(seq 600); do ls -d /proc/irq/*/{LINK}-rxtx-0 && exit; sleep 0.1; done; exit 1
"""
# networkd would bring the link up again at once.
DOWN = f"systemctl kill --signal=STOP systemd-networkd; ip link set {LINK} down"
UP = f"ip link set {LINK} up; systemctl kill --signal=CONT systemd-networkd"
ARGUMENTS = """sed -i '$a IRQBALANCE_ARGS="--interval=1"' /etc/default/irqbalance"""
# irqbalance has been over all interrupts when it has moved those of the NIC that is nobody's.
BALANCED = """
cd /proc/irq/*/virtio0-input.0/.. && echo 0-3 > smp_affinity_list && systemctl restart irqbalance
for try in $(seq 300); do grep -q -- - smp_affinity_list || exit 0; sleep 0.1; done; exit 1
"""


def vectors(told: Answer, device: str = NIC) -> list[dict[str, Any]]:
    """What the kernel says of a device's interrupts, by vector."""
    found: dict[str, dict[str, Any]] = json.loads(told.out)
    ours = ((int(name.rpartition("/")[2]), one) for name, one in found.items() if name.startswith(device))
    return [one for _, one in sorted(ours, key=lambda pair: pair[0])]


def asked(told: Answer, device: str = NIC) -> list[str]:
    return [one["asked"] for one in vectors(told, device)]


def names(told: Answer) -> list[str]:
    return [one["name"] for one in vectors(told)]


def test_interrupts_of_a_driver_that_is_bound_again_and_of_a_link_that_is_down(nps2: Machine) -> None:
    nps2.ssh.put({"/root/placed.yaml": PLACED})
    told = nps2.batch(
        {
            "alone": f"systemctl stop irqbalance; MASK=0-3; {MASKS}",
            "before": f"{STATE} interrupts",
            "apply": "numatune apply /root/placed.yaml --yes --json",
            "placed": INTERRUPTS,
            "rebind": f"({REBIND}) >/dev/null 2>&1",
            "reset": INTERRUPTS,
            "drift": "numatune drift --json",
            "again": "numatune apply /root/placed.yaml --yes --json",
            "put back": INTERRUPTS,
            "down": DOWN,
            "nameless": INTERRUPTS,
            "plan": "numatune plan /root/placed.yaml --json",
            "drift while down": "numatune drift --json",
            "up": UP,
            "named": INTERRUPTS,
            "rollback": "numatune rollback --all --yes --json",
            "after": f"{STATE} interrupts",
        }
    )
    assert failed(told, drift=2) == {}
    in_turn = ["0", "1", "0", "1", "3"]
    assert asked(told["placed"]) == in_turn
    assert asked(told["reset"]) == ["1"] * 5
    found = rows(told["drift"])
    reset = {f"irq:{NIC}/{vector}" for vector in (0, 2, 4)}
    assert {(name, row["letters"]) for name, row in found.items() if row["counted"]} == {(name, "MM") for name in reset}
    assert summary(told["drift"])["differences"] == 3
    assert changed(told["again"]) == reset
    assert asked(told["put back"]) == in_turn

    assert (names(told["nameless"]), asked(told["nameless"])) == ([""] * 5, in_turn)
    assert rows(told["plan"]).keys() == rows(told["apply"]).keys()
    for quiet in ("apply", "again", "plan", "drift while down"):
        assert summary(told[quiet])["differences"] == 0, quiet
    assert summary(told["plan"])["changes"] == 0
    assert (names(told["named"]), asked(told["named"])) == (names(told["placed"]), in_turn)
    # What the driver set in between is somebody's choice as well, and is what a rollback gives back.
    assert {line for line in moved(told["before"], told["after"]) if line.startswith("+")} == {
        f"+interrupt {NIC}/{vector} = 1" for vector in (0, 2, 4)
    }

    managed = {name: row for name, row in rows(told["apply"]).items() if row["status"] == "unchangeable"}
    assert managed.keys() == {f"irq:{NVME}/{vector}" for vector in (2, 3, 4)}
    assert {row["reason"] for row in managed.values()} == {"the kernel manages this interrupt itself (EPERM)"}
    queues = [one for one in vectors(told["placed"], NVME) if one["name"] != "nvme0q0"]
    assert [(one["asked"], one["writable"]) for one in queues] == [(str(cpu), False) for cpu in range(4)]


@pytest.mark.matrix
def test_irqbalance_leaves_alone_what_is_placed(nps2: Machine) -> None:
    nps2.ssh.put({"/root/far.yaml": FAR})
    told = nps2.batch(
        {
            "arguments": ARGUMENTS,
            "runs": BALANCED,
            "before": f"{STATE} files; systemctl show irqbalance --property=ActiveState,EnvironmentFiles",
            "apply": "numatune apply /root/far.yaml --yes --json",
            "banned": BALANCED,
            "started with": "tr '\\0' ' ' < /proc/$(pidof irqbalance)/cmdline",
            "kept": INTERRUPTS,
            "drift": "numatune drift --json",
            "rollback": "numatune rollback --all --yes --json",
            "far again": f"MASK=3; {MASKS}",
            "free": BALANCED,
            "taken": INTERRUPTS,
            "after": f"{STATE} files; systemctl show irqbalance --property=ActiveState,EnvironmentFiles",
        }
    )
    assert failed(told) == {}
    assert [summary(told[name])["differences"] for name in ("apply", "drift")] == [0, 0]
    assert told["started with"].out.split()[1:] == ["--interval=1", "--policyscript=/etc/numatune/irqbalance-policy"]
    assert asked(told["kept"]) == ["3"] * 5
    assert asked(told["taken"]) == ["1"] * 5  # as soon as nobody keeps irqbalance from it
    assert moved(told["before"], told["after"]) == []


def test_a_driver_that_moves_its_interrupts_when_its_queues_change(nps2: Machine) -> None:
    """It has those of queue N on CPU N, and puts them there each time."""
    with queues(nps2) as address:
        rule = f'{{match: {{class: nic, address: "{address}"}}, cpus: "3"}}'
        nps2.ssh.put({"/root/queues.yaml": f"name: queues\nirq: {{rules: [{rule}]}}\n"})
        link = f"$(ls /sys/bus/pci/devices/{address}/virtio*/net)"
        told = nps2.batch(
            {
                "alone": "systemctl stop irqbalance",
                "all": f"ethtool -L {link} combined 4",
                "before": INTERRUPTS,
                "apply": "numatune apply /root/queues.yaml --yes --json",
                "placed": INTERRUPTS,
                "fewer": f"ethtool -L {link} combined 2; ethtool -L {link} combined 4",
                "moved": INTERRUPTS,
                "drift": "numatune drift --json",
                "again": "numatune apply /root/queues.yaml --yes --json",
                "put back": INTERRUPTS,
                "rollback": "numatune rollback --all --yes --json",
                "after": INTERRUPTS,
            }
        )
    assert failed(told, drift=2) == {}
    for name in ("placed", "put back"):
        assert asked(told[name], address) == ["3"] * 9, name  # configuration, and in and out of each queue
    by_the_driver = dict(enumerate(asked(told["moved"], address)))
    away = {vector: mask for vector, mask in by_the_driver.items() if mask != "3"}
    assert len(away) > 1
    ids = {f"irq:{address}/{vector}" for vector in away}
    assert {name for name, row in rows(told["drift"]).items() if row["counted"]} == ids
    assert changed(told["again"]) == ids
    # As above: what the driver chose anew, and else what was there before.
    assert dict(enumerate(asked(told["after"], address))) == dict(enumerate(asked(told["before"], address))) | away
