"""A tar archive of /sys and /proc as a tree in memory. Nothing is unpacked, no name is trusted."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Protocol

from numatune.errors import HostError
from numatune.host.memory import MemoryTree
from numatune.host.paths import ACCEPTED, TOPS

LARGEST_FILE = 16 << 20
"""Bytes of one member that are kept; of a larger one only its being there is (EFBIG)."""

LARGEST_TREE = 1 << 29
"""Bytes of an unpacked archive that are read: a captured host has tens of MiB, a decompression bomb has no end."""

MOST_MEMBERS = 1_000_000
"""A host of 4,096 CPUs and a thousand devices stays below."""


class Unpacking(Protocol):
    """A stream of what is in the archive."""

    def read(self, size: int, /) -> bytes:
        """At most that many bytes."""


def read_archive(path: str) -> MemoryTree:
    """The tree in an archive, compressed or not, whatever its name ends in. Raises HostError."""
    try:
        data = _unpacked(path)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = [(pieces, member) for member in _members(archive, path) if (pieces := _pieces(member.name))]
            top = _top({pieces for pieces, _ in members}, path)
            return _tree(path, archive, data, [(p[len(top) :], m) for p, m in members if p[: len(top)] == top], top)
    except OSError as error:
        raise HostError(path, f"cannot be read: {error.strerror or error}", accepted=ACCEPTED) from error
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise HostError(path, f"no whole tar archive: {error}", accepted=ACCEPTED) from error


def _unpacked(path: str) -> bytes:
    """The bytes of the tar archive. Raises HostError, OSError and what the decompressors raise."""
    with open(path, "rb") as packed:  # noqa: PTH123  # a plain path
        unpack = next((how for magic, how in _MAGIC.items() if packed.peek(8).startswith(magic)), None)
        stream: Unpacking = unpack(packed, path) if unpack else packed
        data = stream.read(LARGEST_TREE + 1)
    if len(data) > LARGEST_TREE:
        raise HostError(path, f"more than {LARGEST_TREE >> 20} MiB unpacked", accepted="a captured /sys and /proc")
    return data


def _zstd(packed: IO[bytes], path: str) -> Unpacking:
    """Python 3.14 reads zstd itself, before that the package zstandard does."""
    for name, how in (("compression.zstd", "ZstdFile"), ("zstandard", "open")):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        opened: Unpacking = getattr(module, how)(packed)
        return opened
    raise HostError(
        path,
        "compressed with zstd, which this Python cannot read",
        accepted=ACCEPTED,
        hint="pip install 'numatune[zstd]', or Python 3.14, or zstd -d it first",
    )


_MAGIC: dict[bytes, Callable[[IO[bytes], str], Unpacking]] = {
    b"\x1f\x8b": lambda packed, _: gzip.GzipFile(fileobj=packed),
    b"\xfd7zXZ\0": lambda packed, _: lzma.LZMAFile(packed),  # noqa: SIM115  # closed with what it reads
    b"BZh": lambda packed, _: bz2.BZ2File(packed),
    b"\x28\xb5\x2f\xfd": _zstd,
}


def _members(archive: tarfile.TarFile, path: str) -> Iterator[tarfile.TarInfo]:
    for number, member in enumerate(archive):
        if number >= MOST_MEMBERS:
            raise HostError(path, f"more than {MOST_MEMBERS} members", accepted="a captured /sys and /proc")
        yield member


def _pieces(name: str) -> tuple[str, ...]:
    """Components of a member's name below the archive's top; () for one that steps up or holds a NUL: it is absent."""
    found = tuple(piece for piece in name.split("/") if piece not in {"", "."})
    return () if ".." in found or "\0" in name else found


def _top(names: set[tuple[str, ...]], path: str) -> tuple[str, ...]:
    """Where the machine's root is in the archive: () or the one folder that holds sys or proc. Raises HostError."""
    if any(name[0] in TOPS for name in names):
        return ()
    tops = {name[:1] for name in names if len(name) > 1 and name[1] in TOPS}
    if len(tops) == 1:
        return tops.pop()
    found = f"several hosts ({', '.join(sorted(top for (top,) in tops))})" if tops else "neither sys nor proc"
    raise HostError(path, f"{found} in this archive", accepted=ACCEPTED)


def _tree(
    path: str,
    archive: tarfile.TarFile,
    data: bytes,
    members: list[tuple[tuple[str, ...], tarfile.TarInfo]],
    top: tuple[str, ...],
) -> MemoryTree:
    """Members as a tree. A hard link is the file that it names; devices, pipes and sockets are absent."""
    tree = MemoryTree(path)
    for pieces, member in members:
        where = "/" + "/".join(pieces)
        if not pieces or member.isdir():
            tree.folder(where, member.mode)
        elif member.issym():
            tree.link(where, member.linkname)
        elif member.islnk():
            named = _pieces(member.linkname)
            if named[: len(top)] == top and len(named) > len(top):
                tree.same(where, "/" + "/".join(named[len(top) :]))
        elif member.isreg():
            tree.put(where, _content(archive, data, member), member.mode)
    return tree


def _content(archive: tarfile.TarFile, data: bytes, member: tarfile.TarInfo) -> bytes | None:
    if member.size > LARGEST_FILE:
        return None
    if member.sparse is not None:
        opened = archive.extractfile(member)
        return opened.read() if opened else b""
    return data[member.offset_data : member.offset_data + member.size]
