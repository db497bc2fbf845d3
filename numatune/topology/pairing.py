"""Which device of one host stands for which of another: addresses shift when a card is added. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from numatune.topology.model import Device

KINDS = ("accelerator", "nic", "infiniband", "nvme")
"""Kinds whose devices are compared one by one; of all others only how many there are."""

Pair = tuple[Device | None, Device | None]


def pairs(a: Sequence[Device], b: Sequence[Device]) -> Iterator[Pair]:
    """Devices of one model that have the same address, then what is left of that model in the order of the slots.

    `a` and `b`: in the order of their addresses. None stands for a device that the other host does not have.
    """
    for kind in KINDS:
        left, right = ([device for device in some if device.kind == kind] for some in (a, b))
        for model in dict.fromkeys((device.vendor, device.device) for device in (*left, *right)):
            yield from _of_model(
                *([one for one in some if (one.vendor, one.device) == model] for some in (left, right))
            )


def _of_model(left: Sequence[Device], right: Sequence[Device]) -> Iterator[Pair]:
    theirs = {device.address: device for device in right}
    yield from ((device, theirs[device.address]) for device in left if device.address in theirs)
    ours = {device.address for device in left}
    yield from zip_longest(
        [device for device in left if device.address not in theirs],
        [device for device in right if device.address not in ours],
    )


def labels(found: Sequence[Pair]) -> tuple[dict[str, str], dict[str, str]]:
    """Address -> what the device is called in the comparison, of each host; the same for both of a pair."""
    named: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for pair in found:
        called = _label(*pair)
        for device, names in zip(pair, named, strict=True):
            if device is not None:
                names[device.address] = called
    return named


def _label(a: Device | None, b: Device | None) -> str:
    device = a or b
    if device is None:
        return ""
    moved = f", {b.address}" if a and b and a.address != b.address else ""
    return f"{device.kind} {device.address}{moved}"
