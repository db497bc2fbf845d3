"""What is expected of devices: how many, where, how their links are, what is beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from pydantic import model_validator

from numatune.knobs.base import Asked, Context, Section, wanted
from numatune.knobs.device_match import DeviceMatch
from numatune.knobs.expect_limits import AT_LEAST_ONE, Count, GigaTransfers, Lanes, Limit
from numatune.settings.codecs import AnyCodec, Int, Speed, Tally, Words
from numatune.settings.measures import Beside, Devices, NodeKnown
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import Fact, Nothing, Target, Trait
from numatune.topology.links import Link
from numatune.topology.model import Device

_MISSING: Final = "a device has failed or is not plugged in, or another driver has it"
_UNEVEN: Final = "a device is missing there, or its node is not known"
_TRAINED_DOWN: Final = "the link trained down (contacts, cable, riser), or its slot has no more"
_SLOWER: Final = "the link trained down, its slot has no more, or the device is idle and saves power"
_NOT_BESIDE: Final = "it is missing, or in a slot elsewhere"
_NODE_UNKNOWN: Final = "the firmware does not tell; devices: in the profile can"
_NO_LINK: Final = "it has no PCIe link that tells this"


class Neighbours(Section):
    """Devices that each one of a group has beside it: ``{match: {class: nic}, count: ">= 1", within: node}``.

    within  node, or switch: below the same PCIe switch
    """

    match: DeviceMatch
    count: Count = AT_LEAST_ONE
    within: Literal["node", "switch"] = "node"
    why: str = ""
    optional: bool | None = None


class DeviceGroup(Section):
    """Devices and what is expected of them: ``{match: {class: accelerator, vendor: 10de}, count: 8, link_width: max}``.

    count       how many match
    per_node    how many the node with CPUs has that has the fewest
    node        known: each has a node
    link_width  lanes of each; max: as many as the device and its slot can
    link_speed  GT/s of each; an idle GPU may be slower than it can
    """

    match: DeviceMatch
    count: Asked[Count] | None = None
    per_node: Asked[Count] | None = None
    node: Asked[Literal["known"]] | None = None
    link_width: Asked[Lanes] | None = None
    link_speed: Asked[GigaTransfers] | None = None
    beside: Neighbours | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set - {"match"}:
            raise ValueError(
                "nothing is expected of it; accepted: count, per_node, node, link_width, link_speed, beside"
            )
        return self


def device_settings(name: str, group: DeviceGroup, context: Context) -> Iterator[Setting]:
    """The group's rows in the order of its keys."""
    return _Group(name, group, context).settings()


@dataclass(frozen=True)
class _Group:
    """One group on one host."""

    name: str
    group: DeviceGroup
    context: Context

    def settings(self) -> Iterator[Setting]:
        """Of all devices, then of each."""
        group, pairs = self.group, self.group.match.pairs
        if group.count:
            target: Target = Trait(Devices(pairs), cause=_MISSING)
            yield self._made("count", group.count, group.count.value.text, target, Tally(group.count.value.op))
        if group.per_node:
            target = Trait(Devices(pairs, per_node=True), self._told(), _UNEVEN)
            yield self._made(
                "per_node", group.per_node, group.per_node.value.text, target, Tally(group.per_node.value.op)
            )
        yield from self._of_each()

    def _of_each(self) -> Iterator[Setting]:
        devices = [device for device in self.context.topology.devices if self.group.match.device(device)]
        group = self.group
        for key, asked in (("node", group.node), ("link_width", group.link_width), ("link_speed", group.link_speed)):
            if asked and not devices:
                yield self._nobody(key, asked)
        if group.beside and not devices:
            yield self._nobody("beside", group.beside)
        for device in devices:
            yield from self._of_one(device)

    def _of_one(self, device: Device) -> Iterator[Setting]:
        group, address = self.group, device.address
        if group.node:
            target = Trait(NodeKnown(address), self._told(), _NODE_UNKNOWN)
            yield self._made("node", group.node, "known", target, Words(), address=address)
        if group.link_width:
            yield self._link("link_width", group.link_width, device)
        if group.link_speed:
            yield self._link("link_speed", group.link_speed, device)
        if group.beside:
            beside = Beside(address, group.beside.match.pairs, group.beside.within)
            target = Trait(beside, self._told(), _NOT_BESIDE)
            count = group.beside.count
            yield self._made("beside", group.beside, count.text, target, Tally(count.op), address=address)

    def _link(self, key: Literal["link_width", "link_speed"], asked: Asked[Limit], device: Device) -> Setting:
        limit = asked.value
        codec: AnyCodec = Int(limit.op) if key == "link_width" else Speed(limit.op)
        cause = _TRAINED_DOWN if key == "link_width" else _SLOWER
        want = self._most(device, key) if limit.text == "max" else limit.text
        target: Target = Fact(device.files(f"current_{key}"), _NO_LINK, cause)
        if want is None:
            target, want = Nothing("unsupported", _NO_LINK), "max"
        return self._made(key, asked, want, target, codec, address=device.address)

    def _most(self, device: Device, key: Literal["link_width", "link_speed"]) -> str | None:
        """As much as both ends can, None when the device does not tell."""
        links = self.context.topology.links
        ends = [links.get(address, Link()) for address in (device.address, *device.parents[:1])]
        if key == "link_width":
            lanes = [link.most_lanes for link in ends]
            known = [most for most in lanes if most is not None]
            return str(min(known)) if lanes[0] is not None else None
        speeds = [link.most_speed for link in ends]
        return min((speed for speed in speeds if speed), key=Speed().measure) if speeds[0] else None

    def _told(self) -> tuple[tuple[str, int], ...]:
        """What the operator said of nodes of devices."""
        told = (device for device in self.context.topology.devices if device.resolved_by == "override")
        return tuple((device.address, device.resolved_node) for device in told if device.resolved_node is not None)

    def _nobody(self, key: str, asked: Asked[Limit] | Asked[Literal["known"]] | Neighbours) -> Setting:
        nothing = Nothing("not-applicable", f"no device here matches {self.group.match}")
        return self._made(key, asked, "", nothing, Words())

    def _made(  # noqa: PLR0913  # which key, what is asked and where it is seen, of which device
        self,
        key: str,
        asked: Asked[Limit] | Asked[Literal["known"]] | Neighbours,
        want: str,
        target: Target,
        codec: AnyCodec,
        *,
        address: str = "",
    ) -> Setting:
        path = ("expect", "devices", self.name, key)
        made = wanted(self.context, path, asked, want=want, target=target, codec=codec, phase=Phase.EXPECT)
        return replace(made, id=SettingId(f"{made.id}/{address}")) if address else made
