"""The applied set on a host that has changed: why its stored values may not do, and what they would be now."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader
    from numatune.settings.applied import AppliedSet
    from numatune.settings.model import Setting


def why(stored: AppliedSet, reader: Reader) -> str:
    """Why the stored values may no longer be what the stored profiles mean here; "" when they are."""
    from numatune.discover import fingerprint
    from numatune.engine import applied

    if stored.fingerprint != fingerprint(reader):
        return "the host has other nodes, CPUs, devices, interrupts or another kernel than at the last apply"
    now = dict(applied.interrupts(stored.settings, reader))
    moved = [device for device, held in stored.interrupts if _indexes(now.get(device, ())) != _indexes(held)]
    return f"{', '.join(moved)} has other interrupts than at the last apply" if moved else ""


def _indexes(interrupts: Iterable[str]) -> list[str]:
    """Of "number/index" the index, which is what a value hangs on; the number is another one after most reboots."""
    return sorted(one.rpartition("/")[2] for one in interrupts)


def settings(stored: AppliedSet, reader: Reader) -> tuple[Setting, ...]:
    """What the stored profiles want of the host as it is now. Raises ProfileError.

    What makes the set survive a reboot stays as it was written: the boot unit works values out anew, files cannot.
    """
    from numatune import profile
    from numatune.api import persisting
    from numatune.discover import discover
    from numatune.engine import applied
    from numatune.topology.resolve import with_names, with_overrides

    resolved = []
    for part in stored.parts:
        document = profile.restore(part.stored)
        topology = with_overrides(discover(reader, document.reads), document.overrides)
        topology = with_names(topology, applied.interrupt_names(stored))
        resolved.append((part, profile.resolve(document, topology).settings))
    return (*applied.compose(resolved), *persisting.of(stored))
