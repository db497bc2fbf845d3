"""What `apply --persist` writes, as settings like any other: the plan shows them, rollback takes them away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from numatune.export import early, events, units
from numatune.export.place import Place
from numatune.settings.applied import PERSIST
from numatune.settings.codecs import AtBoot, Text, Words
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.persisted import (
    BOOT,
    HOOK,
    IRQ,
    NET_QUEUES,
    REPAIR,
    RESET_BY_LINKS,
    SYSCTL_D,
    TIMER,
    TMPFILES_D,
    UDEV_RULES,
    UNITS,
)
from numatune.settings.targets import IrqAffinity, KernelFile, Nothing, OwnedFile, UnitProperty, UnitState

_SCRIPT = 0o755

NETWORK_MANAGER = "NetworkManager"
_NO_HOOK = f"after ethtool -L on a link that stays up: numatune reapply --only {','.join(RESET_BY_LINKS)}"


def settings(wanted: Sequence[Setting], place: Place) -> tuple[Setting, ...]:
    """The rows that make `wanted` survive a reboot. Their files are written last, and taken away first."""
    if place.forgets:
        return (_nothing("root", place.forgets),)
    return (*_early(wanted, place), *_late(wanted, place))


def notes(wanted: Sequence[Setting], place: Place) -> tuple[str, ...]:
    """What a person should know of it: what puts interrupts back after a link went down and up."""
    if place.forgets or not place.systemd or not _reset_by_links(wanted):
        return ()
    if not place.hooks:
        armed = f"{TIMER}, every ten minutes: no service here calls hooks"
        return (f"what puts interrupts back after a link change or ethtool -L: {armed}",)
    named = " and ".join(dict.fromkeys(service for _, service in place.hooks))
    return (f"what puts interrupts back when a link comes up: a hook of {named}; {_NO_HOOK}",)


def _early(wanted: Sequence[Setting], place: Place) -> Iterator[Setting]:
    texts = (
        ("sysctl.d", SYSCTL_D, early.sysctl_d(wanted, place.ours), place.sysctl_d),
        ("tmpfiles.d", TMPFILES_D, early.tmpfiles_d(wanted, place.ours), place.tmpfiles_d),
    )
    for name, path, text, is_read in texts:
        if text and is_read:
            yield _file(name, path, text)
        elif text:
            yield _nothing(name, f"nothing on this host reads /etc/{name} at boot")


def _late(wanted: Sequence[Setting], place: Place) -> Iterator[Setting]:
    if not place.systemd:
        by_hand = f"have this host's own way of booting call {' '.join(place.program)} reapply --boot"
        yield _nothing("boot", f"no systemd here, so nothing applies the set at boot: {by_hand}")
        return
    groups = [setting.target.unit for setting in wanted if isinstance(setting.target, UnitProperty)]
    yield from _enabled(BOOT, units.boot(place, groups), "applies the set at boot, after all others")
    devices = _devices(wanted)
    if not _reset_by_links(wanted):
        return
    yield _unit_file(IRQ, units.irq(place))
    yield _file("udev", UDEV_RULES, events.rules(devices, place.ours))
    for folder, service in place.hooks:
        text = (events.hook_of_network_manager if service == NETWORK_MANAGER else events.hook)(place.ours)
        yield _file(f"{service}/{folder.rpartition('/')[2]}", f"{folder}/{HOOK}", text, _SCRIPT)
    if not place.hooks:
        yield _unit_file(REPAIR, units.repair(place))
        yield from _enabled(TIMER, units.timer(place), "no service here tells of links that went down and up")
        yield _row(f"{TIMER}/active", UnitState(TIMER, "active"), Words(), "active")


def _reset_by_links(wanted: Sequence[Setting]) -> bool:
    """Whether there are interrupts, or queues of a NIC, whose masks go with a link, a driver or ethtool -L."""
    queues = any(one.section == NET_QUEUES and isinstance(one.target, KernelFile) for one in wanted)
    return bool(_devices(wanted)) or queues


def _devices(wanted: Sequence[Setting]) -> list[str]:
    return [setting.target.device for setting in wanted if isinstance(setting.target, IrqAffinity)]


def _file(name: str, path: str, text: str, mode: int = 0o644) -> Setting:
    return _row(name, OwnedFile(path, mode), Text(), text)


def _unit_file(unit: str, text: str) -> Setting:
    return _row(unit, OwnedFile(f"{UNITS}/{unit}", reload=True), Text(), text)


def _enabled(unit: str, text: str, why: str) -> Iterator[Setting]:
    """A unit's file and its enablement: that there is a file at all changes what systemd says of that."""
    state = _row(f"{unit}/enabled", UnitState(unit, "enabled"), AtBoot(), "enabled", why)
    yield replace(_unit_file(unit, text), companions=(state,))
    yield state


def _nothing(name: str, reason: str) -> Setting:
    return _row(name, Nothing("unsupported", reason), Text(), "kept")


def _row(
    name: str, target: OwnedFile | UnitState | Nothing, codec: Text | AtBoot | Words, want: str, why: str = ""
) -> Setting:
    """Folded by family in what people read; the phase is the last one forwards and the first one back."""
    return Setting(
        id=SettingId(f"{PERSIST}:{name}"),
        target=target,
        codec=codec,
        want=want,
        phase=Phase.RESUME,
        section=PERSIST,
        why=why,
        family=f"{PERSIST}:files" if isinstance(target, OwnedFile) else "",
        home="none",
    )
