"""Which devices a rule is about."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from numatune.compat import override
from numatune.knobs.base import Section
from numatune.topology.match import KEYS, matches
from numatune.topology.model import Device, DeviceKind


def _digits(value: Any) -> Any:
    """The ID 1002 is a number to YAML."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


PciId = Annotated[str, BeforeValidator(_digits)]
"""Four hexadecimal digits, as lspci -n prints them, or a glob."""


class DeviceMatch(Section):
    """Every key that is given must hold. All but `class` are globs."""

    class_: DeviceKind | None = Field(default=None, alias="class")
    address: str | None = None
    driver: str | None = None
    name: str | None = None
    vendor: PciId | None = None
    device_: PciId | None = Field(default=None, alias="device")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not str(self):
            keys = ", ".join(field.alias or name for name, field in type(self).model_fields.items())
            raise ValueError(f"an empty match; accepted: at least one of {keys}")
        return self

    def device(self, device: Device) -> bool:
        """Whether a device is meant. `name` is any of its names (eth0, mlx5_0)."""
        return matches(((key, text) for key, text in self.pairs if key in KEYS), device)  # a rule may ask for more

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What is asked for, as (key, text)."""
        return tuple(self.model_dump(by_alias=True, exclude_none=True).items())

    @override
    def __str__(self) -> str:
        """As the profile would say it: ``class nic, name eth*``."""
        return ", ".join(f"{key} {value}" for key, value in self.pairs)
