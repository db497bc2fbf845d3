"""What every fake kernel does unless a test says otherwise. First answer wins."""

from __future__ import annotations

from fakes.cgroup import CgroupV1, CgroupV2
from fakes.hugepages import Hugepages
from fakes.irq import Interrupts
from fakes.kernel import Behaviour
from fakes.masks import NetQueues, Workqueues
from fakes.memory import Ksm, Weights
from fakes.modules import Modules
from fakes.pairs import Pairs
from fakes.power import Frequencies
from fakes.refusals import SchedDebug, Sysctls, WatchdogMask
from fakes.systemd import Systemd
from fakes.thp import Choices, Flags

USUAL: tuple[Behaviour, ...] = (
    Choices(),
    Weights(),
    Ksm(),
    Workqueues(),
    NetQueues(),
    Frequencies(),
    SchedDebug(),
    Modules(),
    Flags(),
    Pairs(),
    WatchdogMask(),
    Interrupts(),
    Hugepages(),
    Sysctls(),
    CgroupV2(),
    CgroupV1(),
    Systemd(),
)
