"""kernel_cmdline: parameters that must, or must not, be on the kernel's command line. Checked, never edited."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Refused, Section
from numatune.settings.codecs import Cmdline
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import Fact
from numatune.topology.model import Section as TopologySection

_FILES: Final = ("/proc/cmdline",)
_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,200}(?:=[\x21-\x7e]{0,2000})?\Z")


def _parameter(text: str) -> str:
    if not _PARAMETER.match(text):
        raise ValueError(f"{text!r} is no kernel parameter; accepted: one name, or name=value, without blanks")
    return text


Parameter = Annotated[str, AfterValidator(_parameter)]


class KernelCmdlineSection(Section):
    """``require`` and ``forbid``: lists of parameters, ``iommu=pt`` or ``{value: iommu=pt, why: ...}``."""

    require: list[Asked[Parameter]] = Field(default_factory=list)
    forbid: list[Asked[Parameter]] = Field(default_factory=list)


def _settings(section: KernelCmdlineSection, context: Context) -> tuple[Setting, ...]:
    required = {asked.value for asked in section.require}
    for index, asked in enumerate(section.forbid):
        if asked.value in required:
            raise Refused((("forbid", str(index)), Problem("", f"{asked.value} is required too", "one of both")))
    return tuple(
        Setting(
            id=SettingId(f"kernel_cmdline:{rule}/{asked.value}"),
            target=Fact(_FILES),
            codec=Cmdline(present=rule == "require"),
            want=asked.value,
            phase=Phase.CHECK,
            section="kernel_cmdline",
            source=context.source("kernel_cmdline", rule, str(index)),
            why=asked.why,
            optional=asked.optional,
            note="" if rule == "require" else "must not be there",
            home="none",
        )
        for rule, wanted in (("require", section.require), ("forbid", section.forbid))
        for index, asked in enumerate(wanted)
    )


KNOB: Final = Knob(
    name="kernel_cmdline", model=KernelCmdlineSection, reads=frozenset[TopologySection](), settings=_settings
)
