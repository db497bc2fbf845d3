"""What a machine's /sys and /proc once said: a folder or a tar archive, read without unpacking. A Reader, no Host."""

from __future__ import annotations

import errno
import os
import stat

from numatune.errors import HostError
from numatune.host.local import LocalHost
from numatune.host.paths import ACCEPTED, TOPS
from numatune.host.protocol import Ran, Read, Reader, Stat


class FolderTree:
    """A captured tree that lies unpacked in a folder. Only regular files are opened."""

    def __init__(self, folder: str) -> None:
        self._host = LocalHost(folder)

    @property
    def root(self) -> str:
        """The folder."""
        return self._host.root

    @property
    def live(self) -> bool:
        """It is what a kernel said once."""
        return False

    def read(self, path: str) -> Read:
        """The whole file, up to its first NUL."""
        found = self._host.stat(path)
        if found is not None and not stat.S_ISREG(found.mode) and not stat.S_ISDIR(found.mode):
            return Read(None, errno.ENOENT)
        return self._host.read(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, numbers by value."""
        return self._host.names(folder)

    def real(self, path: str) -> str | None:
        """The path without links, below the folder."""
        return self._host.real(path)

    def stat(self, path: str) -> Stat | None:
        """Mode as captured; inode, owner and mount are this machine's, so they are left out."""
        found = self._host.stat(path)
        return Stat(found.mode) if found is not None else None

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """Nothing runs in a tree."""
        return Ran(127, err=f"{argv[0]}: not captured")


def open_tree(path: str) -> Reader:
    """The captured tree in a folder or archive. Raises HostError when there is none to be found."""
    tree = _plain(path)
    from numatune.host.told import ToldTree, manifest_of  # noqa: PLC0415  # a live host needs none of it

    manifest = manifest_of(tree)
    return tree if manifest is None else ToldTree(tree, manifest)


def _plain(path: str) -> Reader:
    if os.path.isdir(path):  # noqa: PTH112  # pathlib costs a start-up
        return FolderTree(_folder_top(path))
    from numatune.host.archive import read_archive  # noqa: PLC0415  # tarfile and lzma are slow to import

    return read_archive(path)


def _folder_top(path: str) -> str:
    """The folder itself, or the one folder in it, whichever holds sys or proc."""
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208  # as above
    except OSError as error:
        raise HostError(path, f"cannot be read: {error.strerror}", accepted=ACCEPTED) from error
    for folder in (path, *(os.path.join(path, name) for name in names[:1] if len(names) == 1)):  # noqa: PTH118  # as above
        if any(os.path.isdir(os.path.join(folder, top)) for top in TOPS):  # noqa: PTH112, PTH118  # as above
            return folder
    raise HostError(path, "neither sys nor proc in this folder", accepted=ACCEPTED)
