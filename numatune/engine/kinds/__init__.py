"""One module per kind of target: how to look at it, and how to carry out a change of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from numatune.engine.kinds import (
    cgroup,
    fact,
    folder,
    hugepages,
    irq,
    kernel_file,
    module,
    mount,
    nothing,
    owned_file,
    refusals,
    systemctl,
    trait,
    unit_property,
    unit_state,
)
from numatune.host.protocol import Host, Reader
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import (
    Cgroup,
    Fact,
    Folder,
    HugepagePool,
    IrqAffinity,
    KernelFile,
    Module,
    Mount,
    MountOption,
    Nothing,
    OwnedFile,
    Target,
    Trait,
    UnitProperty,
    UnitState,
)

_REFUSALS: Mapping[int, tuple[Status, str]] = {
    errno.EROFS: (Status.DENIED, "it is on a read-only mount"),
    errno.EACCES: (Status.DENIED, "its mode lets nobody write it, or this is not root"),
    errno.EPERM: (Status.DENIED, "the kernel forbids it: a capability is missing, or it is locked down"),
    errno.ENOENT: (Status.UNSUPPORTED, "it is gone"),
}


def look(setting: Setting, reader: Reader) -> Observation:  # noqa: C901, PLR0911, PLR0912  # one return a kind
    """What the host holds for a setting. Guards and conflicts are not looked at here."""
    match setting.target:
        case KernelFile() as target:
            return kernel_file.look(target, setting, reader)
        case IrqAffinity() as target:
            return irq.look(target, setting, reader)
        case HugepagePool() as target:
            return hugepages.look(target, setting, reader)
        case Cgroup() as target:
            return cgroup.look(target, setting, reader)
        case Folder() as target:
            return folder.look(target, setting, reader)
        case Mount() as target:
            return mount.look(target, setting, reader)
        case MountOption() as target:
            return mount.look_at_option(target, setting, reader)
        case UnitProperty() as target:
            return unit_property.look(target, setting, reader)
        case UnitState() as target:
            return unit_state.look(target, setting, reader)
        case OwnedFile() as target:
            return owned_file.look(target, setting, reader)
        case Module() as target:
            return module.look(target, setting, reader)
        case Fact() as target:
            return fact.look(target, setting, reader)
        case Trait() as target:
            return trait.look(target, setting, reader)
        case Nothing() as target:
            return nothing.look(target, setting, reader)
        case _:
            assert_never(setting.target)


def carry_out(change: Change, host: Host) -> int:  # noqa: C901, PLR0911, PLR0912  # one return a kind
    """Make the change. 0 or the errno. A release is the update, or the deletion, that gives the original back."""
    if change.action is Action.RELEASE:
        change = replace(change, action=Action.UPDATE if change.setting.want is not None else Action.DELETE)
    match change.setting.target:
        case KernelFile() as target:
            return kernel_file.write(target, change, host)
        case IrqAffinity() as target:
            return irq.write(target, change, host)
        case HugepagePool() as target:
            return hugepages.write(target, change, host)
        case Cgroup() as target:
            return cgroup.write(target, change, host)
        case Folder() as target:
            return folder.write(target, change, host)
        case Mount() as target:
            return mount.write(target, change, host)
        case MountOption() as target:
            return mount.write_option(target, change, host)
        case UnitProperty() as target:
            return unit_property.write(target, change, host)
        case UnitState() as target:
            return unit_state.write(target, change, host)
        case OwnedFile() as target:
            return owned_file.write(target, change, host)
        case Module() as target:
            return module.write(target, change, host)
        case Fact() as target:
            return fact.write(target, change, host)
        case Trait() as target:
            return trait.write(target, change, host)
        case Nothing() as target:
            return nothing.write(target, change, host)
        case _:
            assert_never(change.setting.target)


def refusal(target: Target, code: int) -> tuple[Status, str]:
    """What a refused write means: its status, and why in words, the errno named."""
    match target:
        case IrqAffinity():
            known = irq.REFUSALS
        case UnitProperty() | UnitState():
            known = systemctl.REFUSALS
        case Module():
            known = module.REFUSALS
        case Folder() | Mount() | MountOption():
            known = {**_REFUSALS, **mount.REFUSALS}
        case Cgroup() | KernelFile() if cgroup.is_inside(target):
            known = {**_REFUSALS, **cgroup.REFUSALS}
        case KernelFile():
            known = {**_REFUSALS, **refusals.of(target)}
        case _:
            known = _REFUSALS
    status, why = known.get(code, (Status.FAILED, os.strerror(code)))
    return status, f"{why} ({errno.errorcode.get(code, str(code))})"
