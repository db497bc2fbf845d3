"""thp: transparent huge pages, the global modes, khugepaged, and each size of its own (Linux 6.8 and later)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, GetJsonSchemaHandler

from numatune.compat import override
from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Inner, Knob, Path, Refused, Section
from numatune.knobs.page_sizes import kb_of, size_key
from numatune.knobs.sysctl import watched
from numatune.settings.codecs import Choice, Int
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.targets import KernelFile
from numatune.topology.model import Machine
from numatune.topology.model import Section as TopologySection

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_ROOT: Final = "/sys/kernel/mm/transparent_hugepage"
_IDLE_NEVER: Final = "0 keeps one core busy with scanning"
_REWRITE_MIN_FREE: Final = frozenset({"enabled", "shmem_enabled"})
"""Files, of any size too, whose every write starts or stops khugepaged, which sets vm.min_free_kbytes: seen on 6.18 for
all of them, on 6.1 and 6.12 for `enabled` (Linux mm/khugepaged.c, set_recommended_min_free_kbytes)."""
_ENTRIES: Final = {"x86_64": 8, "aarch64": 8}
"""Bytes of one entry of a page table: a table is one page, and a huge page is what a whole table maps."""

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
        """For editors: the short form, bare and as a setting with its `why`, and the mapping."""
        word = {"enum": ["always", "inherit", "madvise", "never"]}
        keys = {"value": word, "why": {"type": "string"}, "optional": {"type": "boolean"}}
        return {"anyOf": [word, {"type": "object", "properties": keys, "additionalProperties": False}, handler(core)]}


class ThpSection(Section):
    """Modes of /sys/kernel/mm/transparent_hugepage; only memory that is faulted in later is affected."""

    enabled: Asked[Mode] | None = None
    defrag: Asked[Literal["always", "defer", "defer+madvise", "madvise", "never"]] | None = None
    shmem_enabled: Asked[Literal["always", "within_size", "advise", "never", "deny", "force"]] | None = None
    use_zero_page: Asked[Flag] | None = None
    shrink_underused: Asked[Flag] | None = None
    khugepaged: Khugepaged = Khugepaged()
    sizes: dict[str, Size] = Field(default_factory=dict)


def _settings(section: ThpSection, context: Context) -> tuple[Setting, ...]:
    problems = [*_no_sizes(section.sizes), *_too_many(section.khugepaged, context.topology.machine)]
    if problems:
        raise Refused(*problems)
    folders: list[tuple[BaseModel, tuple[str, ...], str]] = [
        (section, ("thp",), ""),
        (section.khugepaged, ("thp", "khugepaged"), "khugepaged/"),
        *((size, ("thp", "sizes", key), f"hugepages-{kb_of(key)}kB/") for key, size in section.sizes.items()),
    ]
    return tuple(
        _setting(folder, name, asked, context, (*path, name))
        for part, path, folder in folders
        for name in type(part).model_fields
        if isinstance(asked := getattr(part, name), Asked)
    )


def _no_sizes(sizes: Iterable[str]) -> Iterator[tuple[Path, Problem]]:
    for written in sizes:
        try:
            kb_of(written)
        except ValueError as error:
            yield ("sizes", written), Problem.told(error)


def _too_many(khugepaged: Khugepaged, machine: Machine) -> Iterator[tuple[Path, Problem]]:
    """More small pages than a huge page of this machine has, less one: the kernel refuses them."""
    if machine.arch not in _ENTRIES:
        return
    most = machine.page_size // _ENTRIES[machine.arch] - 1
    for name in ("max_ptes_none", "max_ptes_swap", "max_ptes_shared"):
        asked = getattr(khugepaged, name)
        if asked is not None and asked.value > most:
            accepted = f"0 to {most} on this host, whose pages are of {machine.page_size >> 10} kB"
            yield ("khugepaged", name), Problem("", str(asked.value), accepted)


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
        companions=(watched("vm.min_free_kbytes"),) if name in _REWRITE_MIN_FREE else (),
        note=_IDLE_NEVER if name == "scan_sleep_millisecs" and asked.value == 0 else "",
        home="tmpfiles.d",
    )


def _absent(folder: str, name: str) -> str:
    """Why a kernel may not have this file."""
    if folder.startswith("hugepages-"):
        since = "6.11" if name == "shmem_enabled" else "6.8"
        return f"since Linux {since}, for the sizes that this machine offers"
    return "since Linux 6.12" if name == "shrink_underused" else "needs CONFIG_TRANSPARENT_HUGEPAGE"


KNOB: Final = Knob(
    name="thp",
    model=ThpSection,
    reads=frozenset({TopologySection.MACHINE}),
    settings=_settings,
    inner={"sizes": Inner(size_key, "enabled")},
)
