"""The hosts that kept their power have the new value, and hold all the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from testinfra.host import Host

testinfra_hosts = ["ansible://cpu", "ansible://superchip"]


def test_the_new_value_is_there_and_nothing_else_has_moved(host: Host) -> None:
    assert host.sysctl("vm.swappiness") == 7
    assert host.run("numatune check").rc == 0
