"""Hugepages of one node and size, counted where the kernel reports memory, not where the pool is set.

Surplus pages (taken beyond the pool, given back when their user ends) are in HugePages_Total and in nr_hugepages, but
are not what was asked for; see Documentation/admin-guide/mm/hugetlbpage.rst.
"""

from __future__ import annotations

import re

from numatune.settings.model import Setting
from numatune.settings.targets import HugepagePool
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import Verdict, differs, fine, holds, unread

_DEFAULT_SIZE = re.compile(r"^Hugepagesize:\s+(\d+) kB$", re.MULTILINE | re.ASCII)
_LINE = re.compile(r"^Node \d+ HugePages_(\w+):\s+(\d+)$", re.MULTILINE | re.ASCII)


def pool(setting: Setting, target: HugepagePool, ask: Asking) -> Verdict:
    """Judge how many pages the node has, surplus aside."""
    answer = _persistent(target, ask)
    if answer.text is None:
        return unread(setting, answer)
    if holds(setting, answer.text):
        return fine(setting, answer)
    return differs(setting, answer, f"{target.folder}/nr_hugepages", ask)


def _persistent(target: HugepagePool, ask: Asking) -> Answer:
    """Pages of the pool without surplus, by the node's meminfo, which knows the default size only, or by its files."""
    default = _DEFAULT_SIZE.search(ask.once("/proc/meminfo").text or "")
    if default and int(default[1]) == target.kb:
        meminfo = f"/sys/devices/system/node/node{target.node}/meminfo"
        counted = dict(_LINE.findall(ask.file(meminfo).text or ""))
        if "Total" in counted and "Surp" in counted:
            return Answer(str(int(counted["Total"]) - int(counted["Surp"])), f"{meminfo} HugePages_Total")
    total, surplus = ask.file(f"{target.folder}/nr_hugepages"), ask.file(f"{target.folder}/surplus_hugepages")
    if total.text is None or surplus.text is None:
        return total
    return Answer(str(int(total.text) - int(surplus.text)), total.source)
