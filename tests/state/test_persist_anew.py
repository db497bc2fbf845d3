"""A host that is another one after a reboot: what is worked out anew at boot, and how that goes."""

from __future__ import annotations

from fakes.commands import typed
from fakes.reboots import (
    NIC,
    PROFILE,
    SWAPPINESS,
    Host,
    different,
    mask,
    state,
)

ANEW = """\
name: anew
sysctl: {vm.stat_interval: "{{ 10 + (cpus.online | length) }}"}
launch: {cpu: exclusive}
services: {irqbalance: banned}
irq: {rules: [{match: {class: nic}, cpus: "2"}]}
"""
ONE_CPU_LESS = {"/sys/devices/system/cpu/online": "0-6\n"}


def test_what_was_worked_out_anew_is_taken_back_in_any_later_boot(host: Host) -> None:
    """Files outlive the boot that has written them anew; the run that made them is told."""
    before = state(host)
    host.apply(ANEW, "--persist")
    files = {path: text for path, text in host.kernel.state().items() if path.startswith("/etc/")}
    host.tree.update(ONE_CPU_LESS)  # a hotplug while it was off
    host.reboot()
    assert {path for path, text in files.items() if host.kernel.files.get(path, text) != text}, "else nothing is tested"
    for _ in range(2):
        host.reboot()
        assert typed("drift").code == 0
    said = typed("rollback", "--yes")
    assert (said.code, said.err) == (0, "")
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id", *ONE_CPU_LESS}


def test_a_file_that_only_the_host_of_today_needs_is_taken_back_in_any_later_boot(host: Host) -> None:
    before = state(host)
    host.apply("name: small\nsysctl: {vm.swappiness: 10}\nlaunch: {when: {cpus: '<8'}, cpu: exclusive}\n", "--persist")
    assert "/etc/numatune/launch" not in host.kernel.files
    host.tree.update(ONE_CPU_LESS)  # a hotplug while it was off
    host.reboot()
    assert "/etc/numatune/launch" in host.kernel.files
    host.reboot()
    assert typed("rollback", "--yes").code == 0
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id", *ONE_CPU_LESS}


def test_a_boot_of_a_host_that_the_profile_does_not_fit_any_more_goes_by_the_stored_values(host: Host) -> None:
    picky = 'vars: {share: "{{ 10 // ((cpus.online | length) - 7) }}"}\nsysctl: {vm.swappiness: "{{ vars.share }}"}\n'
    host.apply(f"name: picky\n{picky}irq: {{rules: [{{match: {{class: nic}}, cpus: '2'}}]}}\n", "--persist")
    host.tree.update(ONE_CPU_LESS)  # a hotplug while it was off
    said = host.reboot()
    assert said is not None
    assert (said.code, said.err) == (0, "")
    assert (host.held(SWAPPINESS), host.held(mask(host))) == ("10", "2")
    assert typed("reapply").code == 1, "somebody is there to read why"


def test_what_was_worked_out_anew_and_then_applied_over_is_given_back_as_it_was_first(host: Host) -> None:
    before = state(host)
    host.apply(ANEW, "--persist")
    host.tree.update(ONE_CPU_LESS)  # a hotplug while it was off
    host.reboot()
    assert host.held("/proc/sys/vm/stat_interval") == "17"
    assert host.apply("name: other\nsysctl: {vm.stat_interval: 55}\n").code == 0
    assert typed("rollback", "--all", "--yes").code == 0
    assert different(before, state(host)) == {"/proc/sys/kernel/random/boot_id", *ONE_CPU_LESS}


def test_interrupts_with_other_numbers_are_the_same_interrupts(host: Host) -> None:
    """Drivers are bound in another order at every boot: no reason to work anything out anew."""
    host.apply(PROFILE, "--persist")
    folder = f"/sys/bus/pci/devices/{NIC}/msi_irqs"
    first, last = host.kernel.names(folder)[0], host.kernel.names(folder)[-1]
    index = {number: host.kernel.files[f"/sys/kernel/irq/{number}/hwirq"] for number in (first, last)}
    host.kernel.put(f"/sys/kernel/irq/{first}/hwirq", index[last])
    host.kernel.put(f"/sys/kernel/irq/{last}/hwirq", index[first])
    assert "anew" not in typed("drift", "-v").screen
    host.kernel.put(f"/sys/kernel/irq/{last}/hwirq", "99\n")
    assert f"{NIC} has other interrupts than at the last apply" in typed("drift", "-v").screen
