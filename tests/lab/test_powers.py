"""What the lab can do to a machine, seen from inside: other tests rely on it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab import powers
from lab.base import CACHE, CHECKOUT, locked
from lab.machine import Machine, sweep
from lab.warm import reset

pytestmark = pytest.mark.lab


@pytest.mark.matrix
def test_devices_go_and_come_back_and_links_flap(nps2: Machine) -> None:
    nic, disk = nps2.shape.device("vmxnet3"), nps2.shape.device("nvme")
    address = nps2.shape.address(nic)
    carrier = f"cat /sys/bus/pci/devices/{address}/net/*/carrier"
    powers.link(nps2, nic, up=False)
    down = nps2.run(f"for try in $(seq 50); do test $({carrier}) = 0 && break; sleep 0.1; done; {carrier}").out
    powers.link(nps2, nic, up=True)
    up = nps2.run(f"for try in $(seq 50); do test $({carrier}) = 1 && break; sleep 0.1; done; {carrier}").out
    assert (down, up) == ("0\n", "1\n")
    powers.unplug(nps2, nic)
    powers.unplug(nps2, disk)
    assert nps2.run("ls /sys/class/nvme; ls -d /sys/class/net/*/device | wc -l").out == "1\n"  # the way in
    powers.plug(nps2, disk)
    powers.plug(nps2, nic)
    assert nps2.run(f"cat {carrier.removeprefix('cat ').replace('carrier', 'operstate')}; ls /sys/class/nvme").code == 0


@pytest.mark.matrix
def test_a_nic_has_as_many_queues_as_it_is_told(nps2: Machine) -> None:
    with powers.queues(nps2) as address:
        name = nps2.run(f"ls /sys/bus/pci/devices/{address}/virtio*/net").out.strip()
        now = f"ethtool -l {name} | grep Combined"
        told = nps2.batch(
            {"less": f"ethtool -L {name} combined 1", "one": now, "more": f"ethtool -L {name} combined 4"}
        )
        told |= nps2.batch({"four": now, "vectors": f"ls /sys/bus/pci/devices/{address}/msi_irqs | wc -l"})
    assert {name: answer.err for name, answer in told.items() if answer.code} == {}
    assert [told[when].out.split()[1::2] for when in ("one", "four")] == [["4", "1"], ["4", "4"]]
    assert int(told["vectors"].out) == 2 * powers.QUEUES + 1  # one tells of changes of its configuration
    assert nps2.run(f"ls -d /sys/class/net/{name}", check=False).code != 0


@pytest.mark.matrix
def test_reset_brings_back_what_was(nps2: Machine) -> None:
    nps2.run("rm -rf /opt/numatune; touch /root/left; echo 0 > /proc/sys/kernel/numa_balancing")
    reset(nps2)
    told = nps2.run("ls /root; cat /proc/sys/kernel/numa_balancing; numatune --version")
    assert told.out.startswith("1\nnumatune ")


@pytest.mark.matrix
def test_a_reboot_and_a_power_cut_keep_what_is_on_disk(single: Machine) -> None:
    boots = []
    single.run("touch /root/kept /run/lost; sync")
    for end in (single.reboot, single.cut):
        end()
        if end == single.cut:
            single.boot()
        told = single.run("cat /proc/sys/kernel/random/boot_id; ls /root/kept; ls /run/lost", check=False).out.split()
        boots.append(told[0])
        assert told[1:] == ["/root/kept"]
    assert len(set(boots)) == 2


KILLED = """
import os, time
from lab.shapes import SINGLE
from lab.warm import machine
made = machine(SINGLE)
print(made.qemu.pid, made.folder, flush=True)
time.sleep(600)
"""


def test_a_killed_owner_leaves_no_machine_and_the_next_one_no_folder() -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "tests")}
    with subprocess.Popen([sys.executable, "-c", KILLED], env=environment, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        guest = os.pidfd_open(int(pid))
        with locked():  # or another worker sweeps
            owner.send_signal(signal.SIGKILL)
            assert select.select([guest], [], [], 30)[0]
            os.close(guest)
            assert Path(folder).exists()
            sweep()
            assert not Path(folder).exists()
    assert (CACHE / "runs").exists()
