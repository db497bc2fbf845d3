"""Where a setting lives: a closed union. One module of engine/kinds/ per member looks at it and writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from numatune.settings.measures import Measure

DEBUGFS = "/sys/kernel/debug/"
"""What lies there is written with a leave of its own only."""


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A text file of /proc or /sys. `paths`: its names over kernel versions, the first that exists counts.

    `effective`: the file that tells what is really in force, when that is another one (cpuset.cpus.effective).
    `absent`: the reason of a row where none of the paths exists ("since Linux 6.12", "needs CONFIG_NUMA_BALANCING").
    """

    paths: tuple[str, ...]
    effective: str | None = None
    absent: str = field(default="", compare=False)  # words: a companion is the same file without them


@dataclass(frozen=True, slots=True)
class IrqAffinity:
    """An interrupt by device and MSI index; its number is looked up at every read AND every write, never stored.

    `device`: the PCI address, or another device's sysfs name (virtio-mmio.0). `index`: /sys/kernel/irq/N/hwirq & 0x7ff.
    `label`: the action name, for people only; it is empty while a link is down, and not unique.
    """

    device: str
    index: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class HugepagePool:
    """The hugepages of one size (in kB) on one node, in pages.

    What is wanted and held is the persistent count, nr_hugepages less surplus_hugepages: a node's nr_hugepages counts
    surplus pages too, which vanish with their last user. The kernel fills a pool as far as it can and reports success.
    """

    node: int
    kb: int

    @property
    def folder(self) -> str:
        """Holds nr_hugepages, free_hugepages and surplus_hugepages."""
        return f"/sys/devices/system/node/node{self.node}/hugepages/hugepages-{self.kb}kB"


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A cgroup directory, below the root of the machine: there or not. Identity: its inode."""

    path: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, there or not; gone again only when it is empty."""

    path: str


@dataclass(frozen=True, slots=True)
class Mount:
    """A tmpfs of ours on a folder, there or not. `options`: what it is mounted with. Identity: its device.

    Gone again only when no file is in it.
    """

    path: str
    options: str


@dataclass(frozen=True, slots=True)
class MountOption:
    """One option of the tmpfs that is mounted at `path`: mpol, size, huge."""

    path: str
    name: Literal["mpol", "size", "huge"]


@dataclass(frozen=True, slots=True)
class UnitProperty:
    """A property given by ``systemctl set-property``. `effective`: the live file below the unit's cgroup."""

    unit: str
    name: str
    effective: str | None = None
    runtime: bool = True


@dataclass(frozen=True, slots=True)
class UnitState:
    """One aspect of a unit: is it active, enabled, masked. `process`: the comm it runs as where there is no unit."""

    unit: str
    aspect: Literal["active", "enabled", "masked"]
    process: str = ""


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A whole file that is ours alone. `restart`: the unit that reads it, restarted (only when it runs) after a change.

    `through`: the other file of ours by which that unit comes to read this one, as long as that is there.
    `reload`: it is a unit's own file: systemd is told to read it again, once for all that a run writes.
    A distribution's or administrator's file is never edited.
    """

    path: str
    mode: int = 0o644
    restart: str | None = None
    through: str | None = None
    reload: bool = False


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the kernel: loaded, or built in, or not there. `name` with underscores, as in /sys/module."""

    name: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Checked, never written: the kernel command line, the width of a link. The first of `paths` that exists counts.

    `absent`: the reason of a row where none of the paths exists. `cause`: what usually is the matter when it is not as
    expected.
    """

    paths: tuple[str, ...]
    absent: str = field(default="", compare=False)
    cause: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Trait:
    """What several files together tell of the hardware: checked, never written. `cause`: as of a Fact.

    `told`: devices that the operator put on a node, as (address, node id).
    """

    of: Measure
    told: tuple[tuple[str, int], ...] = ()
    cause: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Asked for, but this host has none of it: a rule without a match, a page size not offered, `when` not met."""

    status: Literal["not-applicable", "unsupported", "denied"]
    reason: str


PLACES = (Cgroup, Folder, Mount)
"""What is made and taken away as a whole, with what is in it."""

Target = (
    KernelFile
    | IrqAffinity
    | HugepagePool
    | Cgroup
    | Folder
    | Mount
    | MountOption
    | UnitProperty
    | UnitState
    | OwnedFile
    | Module
    | Fact
    | Trait
    | Nothing
)
