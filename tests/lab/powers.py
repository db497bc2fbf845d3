"""What happens to hosts, done to a machine: devices that go and come, links that flap, a NIC of many queues."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from lab.base import LabError
from lab.machine import Machine
from lab.shapes import Device, bus

PATIENCE = 90.0  # seconds: a slot is switched off five seconds after it was asked to
QUEUES = 4  # pairs


def unplug(made: Machine, device: Device) -> None:
    """Take a device out as an operator does, by its slot's button; back when it is gone."""
    remove(made, made.shape.called(device))
    made.run(f"test ! -e /sys/bus/pci/devices/{made.shape.address(device)}")


def plug(made: Machine, device: Device) -> None:
    """Put a device in its slot again; back when the guest has found it and its driver, if it has one, has it."""
    made.qemu.ask("device_add", made.shape.plug(device))
    appeared(made, made.shape.address(device))


def link(made: Machine, device: Device, *, up: bool) -> None:
    """Pull a NIC's cable, or put it in again."""
    made.qemu.ask("set_link", {"name": made.shape.called(device), "up": up})


@contextlib.contextmanager
def queues(made: Machine) -> Iterator[str]:
    """A virtio NIC with four pairs of queues in the spare slot; its PCI address. It goes when the block ends.

    It hangs on a tap device of this machine, which is not a lasting one: it ends with QEMU, whatever ends that.
    """
    if made.shape.spare is None:
        raise LabError(f"{made.shape.name} has no spare slot")
    made.qemu.ask("netdev_add", {"type": "tap", "id": "tap", "queues": QUEUES, "script": "no", "downscript": "no"})
    slot = f"port{len(made.shape.devices)}"
    words = {"driver": "virtio-net-pci", "id": "many", "bus": slot, "netdev": "tap", "mq": True, "romfile": ""}
    made.qemu.ask("device_add", {**words, "vectors": 2 * QUEUES + 2})
    others = sum(device.node == made.shape.spare for device in made.shape.devices)
    address = f"0000:{bus(made.shape.spare) + 1 + others:02x}:00.0"
    appeared(made, address)
    try:
        yield address
    finally:
        remove(made, "many")
        made.qemu.ask("netdev_del", {"id": "tap"})


def appeared(made: Machine, address: str) -> None:
    """Until the guest has this device, and udev is through with it."""
    made.run(
        f"for try in $(seq 600); do test -e /sys/bus/pci/devices/{address} && break; sleep 0.1; done; "
        f"test -e /sys/bus/pci/devices/{address} && udevadm settle --timeout=60"
    )


def remove(made: Machine, name: str) -> None:
    """Ask the guest to let a device go until it does: a slot that is still busy does not hear it."""
    end = time.monotonic() + PATIENCE
    while name in present(made):
        if time.monotonic() > end:
            raise LabError(f"{made.shape.name} keeps {name}")
        with contextlib.suppress(LabError):  # it was asked before, and is at it
            made.qemu.ask("device_del", {"id": name})
        time.sleep(1)


def present(made: Machine) -> set[str]:
    """The devices that have a name."""
    return {entry["name"] for entry in made.qemu.ask("qom-list", {"path": "/machine/peripheral"})}
