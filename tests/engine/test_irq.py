"""Interrupts are found by device and MSI index at every look and every write, and a refusal says what it means."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from fakes.irq import fire, rebind
from fakes.kernel import FakeKernel
from fakes.trees import Tree, host_tree, memory

from numatune.engine.kinds import carry_out, irq, look
from numatune.host.protocol import Read, Stat
from numatune.settings.codecs import CpuList
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import IrqAffinity

NIC = "0000:41:00.0"
LIST = "/proc/irq/{}/smp_affinity_list"


def setting(index: int, want: str | None = "1", device: str = NIC) -> Setting:
    return Setting(
        id=SettingId(f"irq:{device}/{index}"),
        target=IrqAffinity(device, index),
        codec=CpuList(),
        want=want,
        phase=Phase.IRQ,
        section="irq",
    )


def write(kernel: FakeKernel, wanted: Setting, text: str) -> int:
    return carry_out(Change(wanted, Observation(None), Status.DRIFTED, Action.UPDATE, (text,)), kernel)


def busy_host(**shape: object) -> FakeKernel:
    return FakeKernel(host_tree(nics=1, nvmes=1, **shape))


def test_look_tells_mask_number_and_where_it_runs():
    seen = look(setting(2), busy_host())
    assert (seen.text, seen.where, seen.identity, seen.effective) == ("0-7\n", LIST.format(26), "26", "2")
    assert (seen.writable, seen.pending) == (None, False)


def test_the_index_is_the_low_bits_of_a_hwirq_that_holds_the_whole_address_on_older_kernels():
    kernel = busy_host()
    for number in range(24, 29):
        kernel.put(f"/sys/kernel/irq/{number}/hwirq", f"{0x41 << 19 | number - 24}\n")
    assert look(setting(3), kernel).identity == "27"


def test_a_hwirq_of_more_than_64_bits_tells_nothing():
    kernel = busy_host()
    kernel.put("/sys/kernel/irq/26/hwirq", "9" * 5000)
    assert irq.msi_index("26", kernel) is None
    assert look(setting(2), kernel).text is None


def test_a_write_after_a_rebind_goes_to_the_number_of_now():
    kernel = busy_host()
    assert look(setting(1), kernel).identity == "25"
    moved = rebind(kernel, NIC)
    assert write(kernel, setting(1), "3") == 0
    assert look(setting(1), kernel).identity == moved["25"]
    assert kernel.files[LIST.format(moved["25"])] == "3\n"


def test_a_number_that_now_is_another_devices_is_not_written():
    kernel = busy_host()
    assert look(setting(0), kernel).identity == "24"
    nvme = look(setting(0, device="0000:42:00.0"), kernel).identity
    rebind(kernel, NIC)
    kernel.put("/sys/kernel/irq/24/hwirq", "0\n")
    kernel.put(LIST.format(24), "0-7\n")
    before = kernel.files[LIST.format(24)], kernel.files[LIST.format(nvme)]
    assert write(kernel, setting(0), "3") == 0
    assert (kernel.files[LIST.format(24)], kernel.files[LIST.format(nvme)]) == before


def test_a_number_that_now_is_another_vector_of_the_device_is_not_taken_for_the_old_one():
    kernel = busy_host()
    assert look(setting(4), kernel).identity == "28"
    kernel.put("/sys/kernel/irq/28/hwirq", "2\n")
    kernel.remove("/sys/kernel/irq/26/hwirq")
    assert look(setting(4), kernel) == Observation(None, errno.ENOENT, f"/sys/bus/pci/devices/{NIC}/msi_irqs")
    assert look(setting(2), kernel).identity == "28"
    assert write(kernel, setting(4), "3") == errno.ENOENT


def test_a_device_without_its_driver_has_no_interrupts():
    kernel = busy_host()
    look(setting(0), kernel)
    kernel.remove(f"{kernel.real(f'/sys/bus/pci/devices/{NIC}')}/msi_irqs")
    assert look(setting(0), kernel).errno == errno.ENOENT


def test_a_tree_without_sys_kernel_irq_counts_a_devices_numbers():
    tree = host_tree(nics=1)
    old = Tree({path: text for path, text in tree.items() if not path.startswith("/sys/kernel/irq/")})
    assert look(setting(3), memory(old)).identity == "27"
    assert look(setting(9), memory(old)).errno == errno.ENOENT


@pytest.mark.parametrize("remapping", [False, True])
def test_a_tree_without_msi_irqs_has_the_chip_names_of_proc_interrupts(*, remapping: bool):
    tree = host_tree(nics=1, nvmes=1, remapping=remapping)
    bare = Tree({path: text for path, text in tree.items() if "/msi_irqs/" not in path})
    assert look(setting(3), memory(bare)).identity == "27"
    assert look(setting(1, device="0000:42:00.0"), memory(bare)).identity == "30"
    assert look(setting(9), memory(bare)).errno == errno.ENOENT


def test_without_remapping_a_move_waits_for_the_next_interrupt():
    kernel = busy_host()
    assert write(kernel, setting(2), "5") == 0
    seen = look(setting(2, "5"), kernel)
    assert (seen.text, seen.effective, seen.pending) == ("5\n", "2", True)
    fire(kernel, seen.identity)
    seen = look(setting(2, "5"), kernel)
    assert (seen.effective, seen.pending) == ("5", False)


def test_with_remapping_it_is_in_force_at_once():
    kernel = busy_host(remapping=True)
    assert write(kernel, setting(2), "5") == 0
    seen = look(setting(2, "5"), kernel)
    assert (seen.effective, seen.pending) == ("5", False)


@pytest.mark.parametrize("text", [None, "\n"], ids=["absent", "empty"])
def test_where_no_effective_mask_is_told_nothing_is_called_pending(text: str | None):
    kernel = busy_host()
    kernel.remove("/proc/irq/26/effective_affinity_list")
    if text is not None:
        kernel.put("/proc/irq/26/effective_affinity_list", text)
    seen = look(setting(2), kernel)
    assert (seen.effective, seen.pending) == (None, False)


def test_a_managed_interrupt_is_known_by_its_mode_since_linux_6_12():
    kernel = busy_host()
    seen = look(setting(1, "7", "0000:42:00.0"), kernel)
    assert (seen.writable, seen.errno) == (False, errno.EPERM)
    assert write(kernel, setting(1, device="0000:42:00.0"), "7") == errno.EPERM


def test_before_only_trying_tells():
    kernel = busy_host(kernel="5.15.0")
    seen = look(setting(1, "7", "0000:42:00.0"), kernel)
    assert (seen.writable, seen.errno) == (None, 0)
    assert write(kernel, setting(1, device="0000:42:00.0"), "7") == errno.EIO


def test_a_read_only_mount_is_told_from_a_managed_interrupt():
    kernel = FakeKernel(host_tree(nics=1), read_only=("/proc",))
    seen = look(setting(1), kernel)
    assert (seen.writable, seen.errno) == (False, errno.EROFS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8", errno.ERANGE), ("0-99", errno.ERANGE), ("x", errno.EINVAL), ("6", errno.EINVAL), ("6-7", errno.EINVAL)],
)
def test_what_the_kernel_says_to_a_set_it_cannot_use(text: str, expected: int):
    kernel = busy_host(offline="6-7")
    before = kernel.state()
    assert write(kernel, setting(1), text) == expected
    assert kernel.state() == before


def test_a_set_with_one_online_cpu_is_taken():
    kernel = busy_host(offline="6-7")
    assert write(kernel, setting(1), "5-7") == 0
    assert look(setting(1), kernel).text == "5-7\n"


def test_each_refusal_is_explained_and_only_managed_ones_are_unchangeable():
    said = {code: why for code, (_, why) in irq.REFUSALS.items()}
    for one, other in [(errno.ERANGE, errno.EOVERFLOW), (errno.EINVAL, errno.ENOSPC), (errno.EROFS, errno.EACCES)]:
        assert said[one] != said[other]
    unchangeable = {code for code, (status, _) in irq.REFUSALS.items() if status is Status.UNCHANGEABLE}
    assert unchangeable == {errno.EPERM, errno.EIO}


class Counting:
    """A Reader that counts what it is asked."""

    def __init__(self, kernel: FakeKernel) -> None:
        self.kernel = kernel
        self.asked = 0

    def read(self, path: str) -> Read:
        self.asked += 1
        return self.kernel.read(path)

    def stat(self, path: str) -> Stat | None:
        self.asked += 1
        return self.kernel.stat(path)

    def names(self, folder: str) -> tuple[str, ...]:
        found = self.kernel.names(folder)
        self.asked += 1 + len(found)
        return found


@pytest.mark.parametrize("rebound", [False, True])
def test_the_effort_of_a_pass_grows_with_the_number_of_interrupts_not_faster(*, rebound: bool):
    def effort(vectors: int) -> int:
        kernel = FakeKernel(host_tree(cpus_per_node=2, nics=[{"vectors": vectors}]))
        settings = [setting(index) for index in range(vectors)]
        for one in settings:
            irq.look(one.target, one, kernel)  # type: ignore[arg-type]
        if rebound:
            rebind(kernel, NIC)
        counting = Counting(kernel)
        for one in settings:
            assert irq.look(one.target, one, counting).text  # type: ignore[arg-type]
        return counting.asked

    assert effort(256) < 4.5 * effort(64)


def test_a_watched_interrupt_has_nothing_to_compare_with():
    kernel = busy_host()
    assert look(replace(setting(1), want=None), kernel).text == "0-7\n"
