"""What an errno means at certain kernel files, where it means more than its name says."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

from numatune.settings.plan import Status
from numatune.settings.targets import KernelFile

_Meanings = Mapping[int, tuple[Status, str]]

_BY_PATH: tuple[tuple[re.Pattern[str], _Meanings], ...] = (
    (
        re.compile(r"/sys/module/.*"),
        {
            errno.EACCES: (
                Status.DENIED,
                "it is read when the module is loaded only: an options line in modprobe.d sets it",
            )
        },
    ),
    (
        re.compile(r"/sys/kernel/debug/.*"),
        {errno.EPERM: (Status.DENIED, "this kernel is locked down (Secure Boot), which closes debugfs")},
    ),
    (
        re.compile(r"/sys/kernel/mm/ksm/pages_to_scan"),
        {errno.EINVAL: (Status.FAILED, "the advisor chooses it (advisor_mode is scan-time)")},
    ),
    (
        re.compile(r"/sys/kernel/mm/mempolicy/weighted_interleave/(?:auto|__auto_type)"),
        {errno.ENODEV: (Status.UNSUPPORTED, "the firmware tells no bandwidths (HMAT, CDAT)")},
    ),
    (
        re.compile(r"/sys/class/net/.*/rps_cpus"),
        {errno.EINVAL: (Status.FAILED, "isolated CPUs take no packets over, and none is left")},
    ),
    (
        re.compile(r".*/cpufreq/policy\d+/energy_performance_preference"),
        {errno.EBUSY: (Status.FAILED, "under the governor performance no other preference is taken")},
    ),
)
"""Linux mm/ksm.c, mm/mempolicy.c, drivers/cpufreq/intel_pstate.c, net/core/net-sysfs.c."""


def of(target: KernelFile) -> _Meanings:
    """What is known of one file's refusals besides what holds for all."""
    return next((known for pattern, known in _BY_PATH if pattern.fullmatch(target.paths[0])), {})
