"""vm.min_free_kbytes as the memory zones know it.

The kernel spreads the value over its zones: the `min` watermarks in /proc/zoneinfo, in pages, add up to it
(mm/page_alloc.c, __setup_per_zone_wmarks). A movable zone has a small fixed one of its own; a boost after fragmentation
is printed inside `min` and beside it.
"""

from __future__ import annotations

import re

from numatune.settings.model import Setting
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import Verdict, drifted, fine

MIN_FREE_KBYTES = "/proc/sys/vm/min_free_kbytes"
_ZONEINFO = "/proc/zoneinfo"
_ZONE = re.compile(r"^Node \d+, zone +(\w+)$", re.MULTILINE | re.ASCII)
_NUMBER = re.compile(r"^ +(boost|min) +(\d+)$", re.MULTILINE | re.ASCII)
_SHARE = 10
"""How far the sum may be off, as 1/10 of the value: each zone rounds down, and memory may just be coming or going."""


def kept(setting: Setting, answer: Answer, ask: Asking) -> Verdict:
    """The sysctl is as wanted; judge whether the zones keep that much free. Hosts that do not tell have the sysctl."""
    pages = _pages(ask.file(_ZONEINFO).text or "")
    page_size = ask.run("getconf", "PAGESIZE").stdout.strip()
    if pages is None or not page_size.isdecimal():
        return fine(setting, answer)
    asked, kbytes = int(answer.text or "0"), pages * int(page_size) // 1024
    if abs(kbytes - asked) * _SHARE <= asked:
        return fine(setting, Answer(answer.text, f"{answer.source}, {_ZONEINFO}"))
    message = f"{answer.source} says {asked}, but the zones' min watermarks in {_ZONEINFO} add up to {kbytes} kB"
    return drifted(setting, Answer(str(kbytes), _ZONEINFO), message)


def _pages(zoneinfo: str) -> int | None:
    """The min watermarks of all zones that the value is spread over; None when there are none."""
    zones = _ZONE.split(zoneinfo)[1:]
    total = 0
    for name, body in zip(zones[::2], zones[1::2], strict=True):
        if name not in {"Movable", "HighMem"}:
            numbers = dict(_NUMBER.findall(body))
            total += int(numbers.get("min", 0)) - int(numbers.get("boost", 0))
    return total if zones else None
