"""What the wanted values of a host hang on, as a short text: cheap enough for a cron job."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.discover.cgroups import cgroups
from numatune.discover.cpus import BASE as CPU_BASE
from numatune.discover.machine import kernel_release
from numatune.discover.nodes import BASE as NODE_BASE
from numatune.discover.nodes import memory_of, node_ids
from numatune.discover.read import text
from numatune.host.protocol import Reader

STEP = 128 << 20
"""Memory sizes differ a little from boot to boot; only multiples of this many bytes count."""

_VIRTUAL = "/sys/devices/virtual/"


def fingerprint_of(reader: Reader) -> str:
    """Node and CPU lists, memory sizes in steps, PCI devices, interfaces and queues, interrupts, kernel, cgroups.

    Interfaces without hardware (veth, bridges) come and go with containers and are left out.
    """
    from hashlib import sha256  # noqa: PLC0415  # 5 ms that only this costs

    return sha256("\n".join(_told(reader)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _told(reader: Reader) -> Iterator[str]:
    yield f"kernel {kernel_release(reader)}"
    for name in ("online", "present"):
        yield f"cpus {name} {text(reader, f'{CPU_BASE}/{name}')}"
    for node in node_ids(reader):
        memory, _ = memory_of(reader, node)
        steps = "unknown" if memory is None else memory // STEP
        yield f"node {node} cpus {text(reader, f'{NODE_BASE}/node{node}/cpulist')} memory {steps}"
    yield f"pci {' '.join(reader.names('/sys/bus/pci/devices'))}"
    yield f"net {' '.join(_interfaces(reader))}"
    yield f"queues {' '.join(_queues(reader))}"
    yield f"irq {' '.join(reader.names('/proc/irq'))}"
    groups = cgroups(reader)
    yield f"cgroup {groups.mode} {groups.version} {groups.cpuset_root} {groups.memory_root}"


def _interfaces(reader: Reader) -> Iterator[str]:
    for name in reader.names("/sys/class/net"):
        if not (reader.real(f"/sys/class/net/{name}") or "").startswith(_VIRTUAL):
            yield name


def _queues(reader: Reader) -> Iterator[str]:
    """How many queues each interface has: ``ethtool -L`` changes that, and every one has masks of its own."""
    for name in _interfaces(reader):
        yield str(len(reader.names(f"/sys/class/net/{name}/queues")))
