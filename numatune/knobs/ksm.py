"""ksm: merging of equal pages, which saves memory, costs CPU and TLB, and by default shares pages across nodes.

Only memory that was offered is merged (madvise MADV_MERGEABLE, prctl PR_SET_MEMORY_MERGE): virtual machines mostly.
Documentation/admin-guide/mm/ksm.rst.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from numatune.knobs.base import Asked, Context, Knob, Section, wanted
from numatune.settings.codecs import Int
from numatune.settings.model import Impact, Phase, RoomFor, Setting, SettingId, Zero
from numatune.settings.targets import KernelFile
from numatune.topology.model import Section as TopologySection

_ROOT: Final = "/sys/kernel/mm/ksm"
_RUN: Final = SettingId("ksm:run")
_UNMERGE: Final = 2
_WHILE_NOTHING_IS_MERGED: Final = {"merge_across_nodes": "pages_shared", "max_page_sharing": "pages_shared"}
"""Files that answer EBUSY as long as another one is not 0 (Linux mm/ksm.c)."""
_ABSENT: Final = {
    "smart_scan": "since Linux 6.7",
    "merge_across_nodes": "needs CONFIG_NUMA",
}

Flag = Literal[0, 1]
Uint = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]


class Ksm(Section):
    """Files of /sys/kernel/mm/ksm: ``{run: 0}``, or ``{run: 1, merge_across_nodes: 0}``.

    run                 0 stops and keeps what is merged, 1 runs, 2 stops and takes everything apart again
    merge_across_nodes  0 merges pages of one node only; it changes only while nothing is merged
    pages_to_scan       cannot be set while the advisor chooses it (advisor_mode, Linux 6.8 and later)
    """

    run: Asked[Literal[0, 1, 2]] | None = None
    merge_across_nodes: Asked[Flag] | None = None
    max_page_sharing: Asked[Annotated[int, Field(ge=2, le=0x7FFFFFFF)]] | None = None
    use_zero_pages: Asked[Flag] | None = None
    smart_scan: Asked[Flag] | None = None
    pages_to_scan: Asked[Uint] | None = None
    sleep_millisecs: Asked[Uint] | None = None


def settings(section: Ksm, context: Context) -> tuple[Setting, ...]:
    """One setting for each key, in the order in which the kernel takes them."""
    asked = ((name, getattr(section, name)) for name in Ksm.model_fields)
    return tuple(_setting(name, one, section, context) for name, one in asked if one is not None)


def _setting(name: str, asked: Asked[Any], section: Ksm, context: Context) -> Setting:
    made = wanted(
        context,
        ("ksm", name),
        asked,
        want=str(asked.value),
        target=KernelFile((f"{_ROOT}/{name}",), absent=_ABSENT.get(name, "needs CONFIG_KSM")),
        codec=Int(),
        phase=Phase.COMPACTION,
    )
    made = replace(made, home="tmpfiles.d")
    if name == "run" and asked.value == _UNMERGE:
        note = "what was merged needs its memory again; a rollback merges nothing by itself, ksmd does, over time"
        room = RoomFor(f"{_ROOT}/pages_sharing", context.topology.machine.page_size, "/proc/meminfo")
        return replace(made, impact=Impact.DISRUPTS, undo="nearest", note=note, guard=room)
    unmerges = section.run is not None and section.run.value == _UNMERGE
    if name in _WHILE_NOTHING_IS_MERGED:
        guard = Zero(f"{_ROOT}/{_WHILE_NOTHING_IS_MERGED[name]}", "pages are merged; run: 2 takes them apart")
        return replace(made, after=(_RUN,), guard=None if unmerges else guard)
    return made


KNOB: Final = Knob(name="ksm", model=Ksm, reads=frozenset({TopologySection.MACHINE}), settings=settings)
