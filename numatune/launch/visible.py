"""Which accelerators a process is to see, in which order, by the variables of its runtime. Pure.

CUDA   CUDA_VISIBLE_DEVICES (CUDA programming guide, 5.2): indexes, ``GPU-`` UUIDs or a unique beginning of one, MIG
       names; cut at the first entry that is none. An index or name twice leaves nothing, as PyTorch found out.
ROCm   ROCR_VISIBLE_DEVICES first (indexes and UUIDs; cut at the first invalid or repeated one: amd_filter_device.h of
       ROCR-Runtime); what is left is counted anew by HIP_VISIBLE_DEVICES, else by CUDA_VISIBLE_DEVICES (gres.conf(5)).
Intel  ZE_AFFINITY_MASK: ``0``, ``1.0`` for one tile; filters, never reorders. In the flat hierarchy tiles are devices.

Unset: all. Empty: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numatune.launch.step import Step
from numatune.topology.resolve import canonical

NVIDIA, AMD, INTEL = "10de", "1002", "8086"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """A device that the driver gives this process, in the order in which its runtime counts.

    uuid   ``GPU-...``, "" where nobody told
    model  the PCI device id: CUDA counts fastest first only where models differ
    tiles  how many devices it is to Intel's runtime in the flat hierarchy
    mig    UUIDs of its MIG instances, in their order; () where nobody told
    instances   the same as GPU and compute instance, ``7/0``
    part   which partition of its device it is (AMD CPX), of how many
    file   what a process that drives it has open, below /dev: ``nvidia0``, ``dri/renderD128``; "" where nobody told
    """

    address: str
    vendor: str = ""
    uuid: str = ""
    model: str = ""
    tiles: int = 1
    mig: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    part: int = 0
    parts: int = 1
    file: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """One device as the process counts it.

    address  "" when the name that was given leads to no device that we know
    part, parts   partition `part` of `parts` that share one device; parts 0: one of nobody knows how many
    """

    address: str
    part: int = 0
    parts: int = 1
    named: str = ""


@dataclass(frozen=True, slots=True)
class Visible:
    """What the process sees, and how that came about."""

    devices: tuple[Seen, ...]
    steps: tuple[Step, ...] = ()
    vendor: str = ""


def visible(environment: Mapping[str, str], accelerators: Sequence[Accelerator]) -> Visible:
    """What is left of the accelerators, in the order in which the process counts them."""
    vendor, chosen = _vendor(environment, accelerators)
    own = [one for one in accelerators if one.vendor == vendor]
    match vendor:
        case "10de":
            found = _cuda(environment, own)
        case "1002":
            found = _rocm(environment, own)
        case "8086":
            found = _intel(environment, own)
        case _:
            found = Visible(tuple(map(as_whole, own)))
    return Visible(found.devices, (*chosen, *found.steps), vendor)


def unplaced(seen: Visible) -> list[str]:
    """MIG instances of which nobody has told the device yet."""
    return [one.named for one in seen.devices if not one.address and one.named.lower().startswith("mig-")]


def placed(seen: Visible, parents: Mapping[str, str]) -> Visible:
    """The same with MIG instances at the addresses of their devices, as far as `parents` has them by name."""
    devices = (
        Seen(parents[one.named], 0, 0, one.named) if not one.address and one.named in parents else one
        for one in seen.devices
    )
    steps = (Step("device", address, f"{named}, by NVML") for named, address in parents.items())
    return Visible(tuple(_numbered(devices)), (*seen.steps, *steps), seen.vendor)


def find(named: str, accelerators: Sequence[Accelerator], seen: Sequence[Seen]) -> Seen | None:
    """The device of `--device`: a PCI address in any spelling, a UUID or its beginning, or an index of what is seen."""
    text = named.strip()
    if text.isascii() and text.isdigit():
        return seen[int(text)] if int(text) < len(seen) else None
    if ":" in text:
        return next((as_whole(one) for one in accelerators if one.address == canonical(text)), None)
    by_name = _by_name(text, accelerators)
    return by_name if isinstance(by_name, Seen) and by_name.address else None


_OF_VENDOR = {
    NVIDIA: ("CUDA_VISIBLE_DEVICES",),
    AMD: ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    INTEL: ("ZE_AFFINITY_MASK",),
}


def _vendor(environment: Mapping[str, str], accelerators: Sequence[Accelerator]) -> tuple[str, tuple[Step, ...]]:
    """Whose devices the process uses: on a host with several vendors' the one whose variable is set, else the most."""
    vendors = list(dict.fromkeys(one.vendor for one in accelerators))
    if len(vendors) <= 1:
        return (vendors[0] if vendors else ""), ()
    named = [one for one in vendors if any(name in environment for name in _OF_VENDOR.get(one, ()))]
    counts = {one: sum(each.vendor == one for each in accelerators) for one in named or vendors}
    vendor = max(counts, key=lambda one: counts[one])
    why = "its variable is set" if named else "it has the most here; --device names another one"
    return vendor, (Step("vendor", vendor, f"accelerators of {', '.join(vendors)} are here; {why}"),)


def as_whole(one: Accelerator) -> Seen:
    """Itself, with all its tiles. Where each partition is a device of its own, that one."""
    return Seen(one.address, one.part, one.parts, one.uuid)


def _cuda(environment: Mapping[str, str], own: Sequence[Accelerator]) -> Visible:
    value = environment.get("CUDA_VISIBLE_DEVICES")
    steps = []
    models = {one.model for one in own}
    by_index = value is None or any(token.strip().isdigit() for token in value.split(","))
    if len(models) > 1 and by_index and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        reason = f"models {', '.join(sorted(models))} are mixed, and CUDA counts the fastest first"
        steps.append(Step("device", "counted in PCI order", f"{reason}; set CUDA_DEVICE_ORDER=PCI_BUS_ID", warns=True))
    if value is None:
        return Visible(tuple(map(as_whole, own)), tuple(steps))
    seen, why = _listed(value, own)
    if len({one.named for one in seen}) < len(seen):
        seen, why = [], "a device twice leaves none"
    return Visible(tuple(_numbered(seen)), (*steps, _told("CUDA_VISIBLE_DEVICES", value, seen, why)))


def _rocm(environment: Mapping[str, str], own: Sequence[Accelerator]) -> Visible:
    steps: list[Step] = []
    left = list(own)
    second = "HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in environment else "CUDA_VISIBLE_DEVICES"
    for name in ("ROCR_VISIBLE_DEVICES", second):
        value = environment.get(name)
        if value is None:
            continue
        seen, why = _listed(value, left)
        # partitions of one device may all print its one unique_id
        same = [(one.address, one.part, "" if one.address else one.named) for one in seen]
        ends = next((place for place, one in enumerate(same) if one in same[:place]), len(same))
        seen, why = seen[:ends], "cut at a repeated one" if ends < len(same) else why
        steps.append(_told(name, value, seen, why))
        left = [one for found in seen for one in left if (one.address, one.part) == (found.address, found.part)]
    return Visible(tuple(map(as_whole, left)), tuple(steps))


def _intel(environment: Mapping[str, str], own: Sequence[Accelerator]) -> Visible:
    flat = environment.get("ZE_FLAT_DEVICE_HIERARCHY", "FLAT").upper() != "COMPOSITE"
    every = [Seen(one.address, tile, one.tiles) for one in own for tile in range(one.tiles)]
    counted = every if flat else [as_whole(one) for one in own]
    value = environment.get("ZE_AFFINITY_MASK")
    if value is None:
        return Visible(tuple(counted))
    kept: set[int] = set()
    tiles: set[Seen] = set()
    for token in value.split(","):
        index, dot, tile = token.strip().partition(".")
        if index.isascii() and index.isdigit() and int(index) < len(counted):
            if dot and not flat and tile.isdigit():
                tiles.add(Seen(own[int(index)].address, int(tile), own[int(index)].tiles))
            else:
                kept.add(int(index))
    found = [one for place, one in enumerate(counted) if place in kept]
    order = [one.address for one in own]
    found += sorted(tiles, key=lambda one: (order.index(one.address), one.part))
    found.sort(key=lambda one: (order.index(one.address), one.part))
    why = "it filters and does not reorder"
    return Visible(tuple(found), (_told("ZE_AFFINITY_MASK", value, found, why),))


def _listed(value: str, own: Sequence[Accelerator]) -> tuple[list[Seen], str]:
    """The devices that a list names, up to the first entry that is none; and why it ended there, "" at its end."""
    seen: list[Seen] = []
    if not value.strip():
        return seen, "empty: none"
    for token in (each.strip() for each in value.split(",")):
        if token.isascii() and token.isdigit():
            if int(token) >= len(own):
                return seen, f"cut at {token}: there are {len(own)}"
            one = own[int(token)]
            seen.append(Seen(one.address, one.part, one.parts, one.uuid or f"{one.address}/{one.part}"))
            continue
        found = _by_name(token, own)
        if isinstance(found, str):
            return seen, f"cut at {token or 'an empty entry'}: {found}"
        seen.append(found)
    return seen, ""


def _by_name(token: str, own: Sequence[Accelerator]) -> Seen | str:
    """The device of a UUID, of the beginning of one, or of a MIG name; else a text that says what is wrong with it."""
    lower = token.lower()
    if lower.startswith("mig-"):
        return _mig(lower, token, own)
    if lower.startswith("gpu-") and lower != "gpu-":
        if not any(one.uuid for one in own):
            return Seen("", named=token)
        matches = [one for one in own if one.uuid.lower().startswith(lower)]
        if len(matches) == 1:
            return as_whole(matches[0])
        return "several begin so" if matches else "there is none"
    return "no index and no name of a device"


def _mig(lower: str, token: str, own: Sequence[Accelerator]) -> Seen | str:
    """An instance by its UUID: only the driver's library tells on which device it is, unless there is one device."""
    if lower.startswith("mig-gpu-"):
        uuid, _, instance = lower[4:].partition("/")
        parent = next((one for one in own if one.uuid.lower() == uuid), None)
        if parent and instance in parent.instances:
            return Seen(parent.address, parent.instances.index(instance), len(parent.instances), token)
        return Seen(parent.address if parent else "", 0, 0, token)
    known = [(one, place) for one in own for place, uuid in enumerate(one.mig) if uuid.lower().startswith(lower)]
    if len(known) == 1:
        parent, place = known[0]
        return Seen(parent.address, place, len(parent.mig), token)
    if known:
        return "several begin so"
    if any(one.mig for one in own):
        return "there is none"
    return Seen(own[0].address if len(own) == 1 else "", 0, 0, token)


def _numbered(seen: Iterable[Seen]) -> list[Seen]:
    """MIG instances of one device, of which nobody told how many there are, count each other."""
    made = list(seen)
    for address in {one.address for one in made if one.parts == 0 and one.address}:
        places = [place for place, one in enumerate(made) if one.address == address and one.parts == 0]
        if len(places) > 1:
            for part, place in enumerate(places):
                made[place] = Seen(address, part, len(places), made[place].named)
    return made


def _told(name: str, value: str, seen: Sequence[Seen], why: str) -> Step:
    shown = ", ".join(one.address or one.named for one in seen) or "no device"
    return Step("device", shown, f"{name}={value}{f' ({why})' if why else ''}")
