"""Transparent hugepages: the sizes and files that this kernel has (Documentation/admin-guide/mm/transhuge.rst)."""

from __future__ import annotations

import stat

from numatune.discover.read import numbered
from numatune.host.protocol import Reader
from numatune.topology.model import Thp

BASE = "/sys/kernel/mm/transparent_hugepage"


def thp(reader: Reader) -> Thp:
    """Files by their names below transparent_hugepage/, without the counters of each size."""
    names = reader.names(BASE)
    files = []
    for name in names:
        found = reader.stat(f"{BASE}/{name}")
        if found and stat.S_ISDIR(found.mode):
            files += [f"{name}/{below}" for below in reader.names(f"{BASE}/{name}") if below != "stats"]
        else:
            files.append(name)
    return Thp(present=bool(names), sizes=tuple(sorted(numbered(names, "hugepages-", "kB"))), files=tuple(files))
