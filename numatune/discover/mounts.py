"""Mount points, and what each tmpfs does with memory (Documentation/filesystems/tmpfs.rst)."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.discover.read import integer
from numatune.host.mounts import table
from numatune.host.protocol import Reader
from numatune.topology.mounts import Mount


def mounts(reader: Reader) -> tuple[Mount, ...]:
    """By mount point; of several on one point the one that is seen."""
    return tuple({one.point: one for one in _mounts(reader)}.values())


def _mounts(reader: Reader) -> Iterator[Mount]:
    for one in table(reader):
        if one.kind != "tmpfs":
            yield Mount(point=one.point, kind=one.kind)
            continue
        kib = integer((one.option("size") or "").removesuffix("k"))
        size = None if kib is None else kib << 10
        yield Mount(point=one.point, kind=one.kind, policy=one.option("mpol") or "", size=size)
