"""explain where little is known: what nobody captured is not what the kernel lacks."""

from __future__ import annotations

from fakes.commands import typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two


def test_what_was_not_captured_is_not_what_the_kernel_lacks(kernel: FakeKernel) -> None:
    kernel._live = False  # noqa: SLF001  # as if it were a captured one
    kernel.remove("/proc/sys/vm/zone_reclaim_mode")
    assert "nothing: this kernel has no such file" in typed("explain", "vm.zone_reclaim_mode").out
    kernel.remove("/proc/sys/vm")
    assert "nothing: not in this captured tree" in typed("explain", "vm.zone_reclaim_mode").out
