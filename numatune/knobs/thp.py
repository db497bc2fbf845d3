"""thp: transparent huge pages, the global modes, khugepaged, and each size of its own (Linux 6.8 and later)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, GetJsonSchemaHandler, field_validator

from numatune.compat import override
from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Path, Refused, Section
from numatune.knobs.sysctl import watched
from numatune.settings.codecs import Choice, Int
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.targets import KernelFile
from numatune.topology.model import Section as TopologySection

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_ROOT: Final = "/sys/kernel/mm/transparent_hugepage"
_IDLE_NEVER: Final = "0 keeps one core busy with scanning"
_SIZE: Final = re.compile(r"([1-9][0-9]{0,8})\s?([kKmMgG])(?:i?[bB])?\Z", re.ASCII)
_UNITS: Final = {"k": 1, "m": 1 << 10, "g": 1 << 20}

Uint = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]
Ptes = Annotated[int, Field(ge=0, le=8191)]
"""At most the pages of a huge page less one: 511 with 4 kB pages, 8191 with 64 kB pages."""
Flag = Literal[0, 1]
Mode = Literal["always", "madvise", "never"]
ShmemMode = Literal["always", "within_size", "advise", "never"]


class Khugepaged(Section):
    """What khugepaged, which collapses small pages in the background, may do."""

    defrag: Asked[Flag] | None = None
    scan_sleep_millisecs: Asked[Uint] | None = None
    alloc_sleep_millisecs: Asked[Uint] | None = None
    pages_to_scan: Asked[Annotated[int, Field(ge=1, le=0xFFFFFFFF)]] | None = None
    max_ptes_none: Asked[Ptes] | None = None
    max_ptes_swap: Asked[Ptes] | None = None
    max_ptes_shared: Asked[Ptes] | None = None


class Size(Section):
    """One page size; a bare word is its `enabled`."""

    enabled: Asked[Literal["always", "inherit", "madvise", "never"]] | None = None
    shmem_enabled: Asked[Literal["always", "inherit", "within_size", "advise", "never"]] | None = None

    @classmethod
    @override
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """For editors: both forms."""
        return {"anyOf": [{"enum": ["always", "inherit", "madvise", "never"]}, handler(core)]}


class ThpSection(Section):
    """Modes of /sys/kernel/mm/transparent_hugepage; only memory that is faulted in later is affected."""

    enabled: Asked[Mode] | None = None
    defrag: Asked[Literal["always", "defer", "defer+madvise", "madvise", "never"]] | None = None
    shmem_enabled: Asked[Literal["always", "within_size", "advise", "never", "deny", "force"]] | None = None
    use_zero_page: Asked[Flag] | None = None
    shrink_underused: Asked[Flag] | None = None
    khugepaged: Khugepaged = Khugepaged()
    sizes: dict[str, Size] = Field(default_factory=dict)

    @field_validator("sizes", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """``64kB: inherit`` is ``64kB: {enabled: inherit}``."""
        if not isinstance(value, dict):
            return value
        return {key: size if isinstance(size, dict) else {"enabled": size} for key, size in value.items()}


def _settings(section: ThpSection, context: Context) -> tuple[Setting, ...]:
    folders: list[tuple[BaseModel, tuple[str, ...], str]] = [
        (section, ("thp",), ""),
        (section.khugepaged, ("thp", "khugepaged"), "khugepaged/"),
    ]
    folders += [
        (section.sizes[written], ("thp", "sizes", written), f"hugepages-{kb}kB/")
        for kb, written in _folders(section.sizes).items()
    ]
    return tuple(
        _setting(folder, name, asked, context, (*path, name))
        for part, path, folder in folders
        for name in type(part).model_fields
        if isinstance(asked := getattr(part, name), Asked)
    )


def _folders(sizes: Mapping[str, Size]) -> dict[int, str]:
    """Size in kB -> its spelling in the profile. Raises Refused."""
    found: dict[int, str] = {}
    problems: list[tuple[Path, Problem]] = []
    for written in sizes:
        kb = _kilobytes(written)
        if kb is None:
            wrong = Problem("", f"{written} is no page size", "a power of two like 64kB or 2MB")
            problems.append((("sizes", written), wrong))
        elif kb in found:
            wrong = Problem("", f"{written} is the same size as {found[kb]}", "each size once")
            problems.append((("sizes", written), wrong))
        else:
            found[kb] = written
    if problems:
        raise Refused(*problems)
    return found


def _setting(folder: str, name: str, asked: Asked[Any], context: Context, path: tuple[str, ...]) -> Setting:
    in_background = folder == "khugepaged/"
    return Setting(
        id=SettingId(f"thp:{folder}{name}"),
        target=KernelFile((f"{_ROOT}/{folder}{name}",), absent=_absent(folder, name)),
        codec=Int() if isinstance(asked.value, int) else Choice(),
        want=str(asked.value),
        phase=Phase.THP,
        section="thp",
        source=context.source(*path),
        why=asked.why,
        optional=asked.optional,
        impact=Impact.LIVE if in_background else Impact.NEW_PROCESSES,
        companions=(watched("vm.min_free_kbytes"),) if (folder, name) == ("", "enabled") else (),
        note=_IDLE_NEVER if name == "scan_sleep_millisecs" and asked.value == 0 else "",
        home="tmpfiles.d",
    )


def _absent(folder: str, name: str) -> str:
    """Why a kernel may not have this file."""
    if folder.startswith("hugepages-"):
        since = "6.11" if name == "shmem_enabled" else "6.8"
        return f"since Linux {since}, for the sizes that this machine offers"
    return "since Linux 6.12" if name == "shrink_underused" else "needs CONFIG_TRANSPARENT_HUGEPAGE"


def _kilobytes(written: str) -> int | None:
    """``64kB``, ``64k``, ``2MB``, ``2M`` as kB; None when it is no size of a page."""
    match = _SIZE.match(written)
    if not match:
        return None
    kb = int(match[1]) * _UNITS[match[2].lower()]
    return kb if kb.bit_count() == 1 else None


KNOB: Final = Knob(name="thp", model=ThpSection, reads=frozenset[TopologySection](), settings=_settings)
