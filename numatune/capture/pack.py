"""A tree as an archive, written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable, Mapping

from numatune.capture.tree import Tree
from numatune.errors import HostError, UsageError
from numatune.host import beside
from numatune.host.told import MANIFEST

MODE = 0o600
"""A capture tells what a host is made of and what runs on it: for its owner alone, until they decide otherwise."""

_PACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".tar.xz": lambda data: lzma.compress(data, preset=6),
    ".tar.gz": lambda data: gzip.compress(data, mtime=0),
    ".tar.bz2": bz2.compress,
    ".tar": lambda data: data,
}


def check(path: str, *, force: bool) -> None:
    """Raises what `write` would, as far as that is known before the host is asked."""
    if not path.endswith(tuple(_PACK)):
        raise UsageError(path, "no name of an archive", accepted=", ".join(f"*{suffix}" for suffix in _PACK))
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120  # a plain path
    if not os.path.isdir(folder):  # noqa: PTH112  # as above
        raise HostError(path, f"there is no folder {folder}", hint="make it first")
    if os.path.isdir(path) or (os.path.lexists(path) and not force):  # noqa: PTH112  # as above
        raise HostError(path, "is there already", hint="--force replaces a file")


def write(path: str, tree: Tree, *, force: bool) -> int:
    """Pack, then put in place by a rename. Bytes written. Raises HostError, UsageError."""
    check(path, force=force)
    pack = next(pack for suffix, pack in _PACK.items() if path.endswith(suffix))
    data = pack(_tar(tree))
    above, name = os.path.split(os.path.abspath(path))  # noqa: PTH100  # a plain path
    try:
        folder = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            beside.put(folder, name, data, MODE)
        finally:
            os.close(folder)
    except OSError as error:
        raise HostError(path, f"cannot be written: {error.strerror or error}") from error
    return len(data)


def _tar(tree: Tree) -> bytes:
    """Folders first, all in order of their paths: the same tree gives the same archive."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for where, mode in sorted(tree.folders.items()):
            archive.addfile(_member(where, tarfile.DIRTYPE, mode))
        for where, target in sorted(tree.links.items()):
            link = _member(where, tarfile.SYMTYPE, 0o777)
            link.linkname = target
            archive.addfile(link)
        for where, (data, mode) in sorted({**tree.files, MANIFEST: (tree.manifest.text().encode(), 0o644)}.items()):
            member = _member(where, tarfile.REGTYPE, mode)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


def _member(where: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(where.lstrip("/"))
    member.type, member.mode = kind, mode
    return member
