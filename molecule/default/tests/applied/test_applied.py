"""The host after converge, by its own commands and files: what the profile says, and what the role leaves there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testinfra.host import Host

testinfra_hosts = ["ansible://all"]

PROFILE = Path(__file__).parents[2] / "profiles" / "site.yaml"
POOL = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages"
NIC = "0000:41:00.0"  # on node 1, whose only CPU is 1


def test_memory_is_managed_as_the_profile_says(host: Host) -> None:
    assert host.sysctl("kernel.numa_balancing") == 0
    assert host.sysctl("vm.swappiness") == 1
    assert "[madvise]" in host.file("/sys/kernel/mm/transparent_hugepage/enabled").content_string
    pools = host.check_output(f"cat {' '.join(POOL.format(node) for node in range(4))}")
    assert pools.split() == ["0", "0", "8", "4"]


def test_interrupts_of_the_nic_are_on_its_node(host: Host) -> None:
    masks = host.check_output(
        f"for number in $(ls /sys/bus/pci/devices/{NIC}/msi_irqs); do cat /proc/irq/$number/smp_affinity_list; done"
    )
    assert set(masks.split()) == {"1"}
    assert not host.service("irqbalance").is_running


def test_what_runs_in_the_slice_stays_on_its_nodes(host: Host) -> None:
    status = host.check_output(
        "systemd-run --quiet --pipe --wait --slice=inference.slice grep _allowed_list /proc/self/status"
    )
    assert status.split() == ["Cpus_allowed_list:", "2-3", "Mems_allowed_list:", "2-3"]


def test_the_current_version_is_the_one_that_a_shell_finds(host: Host) -> None:
    assert host.file("/usr/local/bin/numatune").linked_to == host.check_output(
        "readlink -f /opt/numatune/current/bin/numatune"
    )
    assert host.file("/opt/numatune/current").linked_to.startswith("/opt/numatune/versions/")
    assert host.file("/etc/numatune/profiles/site.yaml").content_string == PROFILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", ["numatune-check.service", "numatune-boot.service"])
def test_units_name_the_current_version_by_its_link(host: Host, unit: str) -> None:
    called = host.check_output(f"systemctl show --property=ExecStart {unit}")
    assert "argv[]=/opt/numatune/current/bin/numatune " in called


@pytest.mark.parametrize("unit", ["numatune-check.timer", "numatune-boot.service"])
def test_it_stays_so(host: Host, unit: str) -> None:
    assert host.service(unit).is_enabled


def test_the_check_is_quiet(host: Host) -> None:
    done = host.run("numatune check")
    assert (done.rc, done.stdout, done.stderr) == (0, "", "")
