"""Whether a wanted value could take the host down, with the figure that says so."""

from __future__ import annotations

from typing import assert_never

from numatune.discover.read import integer
from numatune.host.protocol import Reader
from numatune.settings.codecs import bytes_of
from numatune.settings.model import FitsFree, Guard, NotBelow, Refuse, RoomFor, Unpopulated, Zero


def figure(guard: Guard, want: str, have: str | None, reader: Reader) -> str:  # noqa: PLR0911  # one a guard
    """Why `want` is not written over `have` without leave, in words and numbers; "" when nothing speaks against it."""
    match guard:
        case Refuse(figure=said):
            return said
        case FitsFree():
            return _fits_free(guard, int(want), _number(have) or 0, reader)
        case NotBelow(used=path):
            size, used = bytes_of(want), _number(reader.read(path).text)
            if size is None or used is None or size >= used:
                return ""
            return f"{_size(size)} is below the {_size(used)} in use: the kernel would kill to get there"
        case Unpopulated(folder=folder):
            at_root = reader.stat(f"{folder}/cgroup.type") is None
            held = (reader.read(f"{folder}/cgroup.procs").text or "").split()
            if at_root or not held:
                return ""
            return (
                f"{folder} holds {len(held)} processes itself, and a cgroup with controllers for its children must not"
            )
        case Zero(file=path, why=why):
            count = _number(reader.read(path).text)
            return f"{count} {why}" if count else ""
        case RoomFor(file=path, unit=unit, meminfo=meminfo):
            needed, free = (_number(reader.read(path).text) or 0) * unit, _mem_free(reader.read(meminfo).text)
            if free is None or needed <= free:
                return ""
            return f"needs {_size(needed)} more, {_size(free)} are free"
        case _:
            assert_never(guard)


def _fits_free(guard: FitsFree, want: int, have: int, reader: Reader) -> str:
    if want < have:
        total = _number(reader.read(f"{guard.pool}/nr_hugepages").text) if guard.pool else None
        free = _number(reader.read(f"{guard.pool}/free_hugepages").text) if guard.pool else None
        if total is None or free is None or want >= total - free:
            return ""
        return f"{want} is below the {total - free} in use: the kernel would keep those as surplus"
    more, free_bytes = (want - have) * guard.unit, _mem_free(reader.read(guard.meminfo).text)
    if free_bytes is None or more <= free_bytes:
        return ""
    return f"needs {_size(more)} more, {_size(free_bytes)} are free"


def _mem_free(text: str | None) -> int | None:
    """MemFree of /proc/meminfo or of a node's meminfo ("Node 0 MemFree: 1024 kB"), in bytes."""
    for line in (text or "").splitlines():
        name, _, value = line.partition(":")
        if name.split()[-1:] == ["MemFree"]:
            number = _number(value.removesuffix("kB"))
            return None if number is None else number * 1024
    return None


def _number(text: str | None) -> int | None:
    return integer((text or "").strip())


def _size(size: int) -> str:
    """Bytes for people: 1.5 GiB, 20 MiB."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"
