"""vm.min_free_kbytes as the memory zones know it.

The kernel spreads the value over its zones: the `min` watermarks in /proc/zoneinfo, in pages, add up to it
(mm/page_alloc.c, __setup_per_zone_wmarks). A boost after fragmentation is counted in `min`, and newer kernels print it
beside it; a movable zone has a share in older kernels, a small fixed one in newer. So only too little is proof.
"""

from __future__ import annotations

import re

from numatune.settings.model import Setting
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import Verdict, drifted, fine

MIN_FREE_KBYTES = "/proc/sys/vm/min_free_kbytes"
_ZONEINFO = "/proc/zoneinfo"
_ZONE = re.compile(r"^Node \d+, zone +\w+$", re.MULTILINE | re.ASCII)
_NUMBER = re.compile(r"^ +(boost|min) +(\d+)$", re.MULTILINE | re.ASCII)
_ENOUGH = 0.9
"""Of the value: each zone rounds down, and memory may just be coming or going."""


def kept(setting: Setting, answer: Answer, ask: Asking) -> Verdict:
    """The sysctl is as wanted; judge whether the zones keep that much free. Hosts that do not tell have the sysctl."""
    pages = _pages(ask.file(_ZONEINFO).text or "")
    page_size = ask.run("getconf", "PAGESIZE").stdout.strip()
    if pages is None or not page_size.isdecimal():
        return fine(setting, answer)
    asked, kbytes = int(answer.text or "0"), pages * int(page_size) // 1024
    if kbytes >= asked * _ENOUGH:
        return fine(setting, Answer(answer.text, f"{answer.source}, {_ZONEINFO}"))
    message = f"{answer.source} says {asked}, but the zones' min watermarks in {_ZONEINFO} add up to {kbytes} kB"
    return drifted(setting, Answer(str(kbytes), _ZONEINFO), message)


def _pages(zoneinfo: str) -> int | None:
    """The min watermarks of all zones, without their boosts; None when there are no zones."""
    zones = _ZONE.split(zoneinfo)[1:]
    numbers = [dict(_NUMBER.findall(zone)) for zone in zones]
    return sum(int(one.get("min", 0)) - int(one.get("boost", 0)) for one in numbers) if zones else None
