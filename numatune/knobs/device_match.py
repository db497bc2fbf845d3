"""Which devices a rule is about."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Self

from pydantic import Field, model_validator

from numatune.compat import override
from numatune.knobs.base import Section
from numatune.topology.model import Device, DeviceKind


class DeviceMatch(Section):
    """Every key that is given must hold. All but `class` are globs."""

    class_: DeviceKind | None = Field(default=None, alias="class")
    address: str | None = None
    driver: str | None = None
    name: str | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not str(self):
            keys = ", ".join(field.alias or name for name, field in type(self).model_fields.items())
            raise ValueError(f"an empty match; accepted: at least one of {keys}")
        return self

    def device(self, device: Device) -> bool:
        """Whether a device is meant. `name` is any of its names (eth0, mlx5_0)."""
        return (
            (self.class_ is None or device.kind == self.class_)
            and (self.address is None or fnmatchcase(device.address, self.address.lower()))
            and (self.driver is None or fnmatchcase(device.driver, self.driver))
            and (self.name is None or any(fnmatchcase(name, self.name) for name in device.names))
        )

    @override
    def __str__(self) -> str:
        """As the profile would say it: ``class nic, name eth*``."""
        asked = self.model_dump(by_alias=True, exclude_none=True)
        return ", ".join(f"{key} {value}" for key, value in asked.items())
