"""One setting and a host that can be asked to one verdict: the dispatch over the closed union of targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Status
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
    Trait,
    UnitProperty,
    UnitState,
)
from numatune.verify.asking import Answer, Asking
from numatune.verify.kinds import cgroups, files, interrupts, modules, mounts, owned, pools, traits, units
from numatune.verify.verdict import Verdict, verdict


def judge(setting: Setting, known: Mapping[SettingId, Setting], ask: Asking) -> Verdict:
    """Ask the host for what `setting` wants. `known`: all settings, among them the one that makes this one's target."""
    said = _ask(setting, ask)
    if said.status is not Status.UNSUPPORTED or setting.needs is None or setting.needs not in known:
        return said
    maker = judge(known[setting.needs], known, ask)
    if maker.status is Status.OK:
        return said
    return replace(
        said, status=maker.status, message=f"{said.message}; {maker.id} comes first, which is {maker.status}"
    )


def _ask(setting: Setting, ask: Asking) -> Verdict:  # noqa: C901, PLR0911, PLR0912  # one return per class of target
    match setting.target:
        case KernelFile() as target:
            return files.kernel_file(setting, target, ask)
        case Fact() as target:
            return files.fact(setting, target, ask)
        case Trait() as target:
            return traits.trait(setting, target, ask)
        case IrqAffinity() as target:
            return interrupts.interrupt(setting, target, ask)
        case HugepagePool() as target:
            return pools.pool(setting, target, ask)
        case Cgroup() as target:
            return cgroups.cgroup(setting, target, ask)
        case Folder() as target:
            return mounts.folder(setting, target, ask)
        case Mount() as target:
            return mounts.mount(setting, target, ask)
        case MountOption() as target:
            return mounts.option(setting, target, ask)
        case UnitProperty() as target:
            return units.unit_property(setting, target, ask)
        case UnitState() as target:
            return units.unit_state(setting, target, ask)
        case OwnedFile() as target:
            return owned.owned_file(setting, target, ask)
        case Module() as target:
            return modules.module(setting, target, ask)
        case Nothing() as target:
            return verdict(setting, Status(target.status), Answer(None, ""), target.reason)
        case _ as unreachable:
            assert_never(unreachable)
