"""Each host has what its group's profile means on its own shape, by its own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testinfra.host import Host

testinfra_hosts = ["ansible://all"]

POOLS = "cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages"
# Group -> pages of 2 MiB on each node; CPUs and nodes of what runs in the service's slice.
WANTED = {
    "gpu": ("0 0 4 4", "2-3", "2-3"),
    "cpu": ("8", "1", "0"),
    "superchip": ("4 4 0 0", "2-3", "0-1"),
}


@pytest.fixture
def group(host: Host) -> str:
    found = set(host.ansible.get_variables()["group_names"]) & set(WANTED)
    assert len(found) == 1
    return found.pop()


def test_hugepages_are_on_the_nodes_of_the_profile(host: Host, group: str) -> None:
    assert host.check_output(POOLS).split() == WANTED[group][0].split()


def test_the_service_stays_on_its_cpus_and_nodes(host: Host, group: str) -> None:
    status = host.check_output(
        "systemd-run --quiet --pipe --wait --slice=inference.slice grep _allowed_list /proc/self/status"
    )
    _, cpus, nodes = WANTED[group]
    assert status.split() == ["Cpus_allowed_list:", cpus, "Mems_allowed_list:", nodes]


def test_all_have_what_the_fleet_has_in_common(host: Host) -> None:
    assert host.sysctl("vm.swappiness") == 1
    assert "[madvise]" in host.file("/sys/kernel/mm/transparent_hugepage/enabled").content_string
