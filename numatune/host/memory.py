"""A machine's tree in memory: files, folders and links. Captured archives are read into one."""

from __future__ import annotations

import errno
import stat
from collections.abc import Mapping

from numatune.host.paths import natural, parts, resolve
from numatune.host.protocol import Ran, Read, Stat


class MemoryTree:
    """A Reader over a dict. Paths are absolute below the root; links resolve inside the tree, or to nothing.

    `put`, `link` and `folder` make what is missing above them; the last one to name a path wins.
    """

    def __init__(self, root: str, files: Mapping[str, bytes | str] | None = None) -> None:
        self._root = root
        self._files: dict[str, bytes | None] = {}
        self._links: dict[str, str] = {}
        self._children: dict[str, dict[str, None]] = {"/": {}}
        self._modes: dict[str, int] = {}
        self._folders: dict[str, str | None] = {}
        for path, data in (files or {}).items():
            self.put(path, data)

    @property
    def root(self) -> str:
        """Where the tree came from, for people."""
        return self._root

    @property
    def live(self) -> bool:
        """It is what a kernel said once."""
        return False

    def put(self, path: str, data: bytes | str | None, mode: int = 0o644) -> None:
        """Put a file in place. `data` None: it is there, too large to be kept (EFBIG)."""
        key = self._claim(path)
        self._files[key] = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        self._modes[key] = stat.S_IFREG | stat.S_IMODE(mode)

    def same(self, path: str, other: str) -> None:
        """Put a hard link to another file in place; to one that is not there, nothing."""
        if other in self._files:
            self.put(path, self._files[other], self._modes[other])

    def link(self, path: str, target: str) -> None:
        """Put a symbolic link in place."""
        self._links[self._claim(path)] = target

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Put a folder in place; one that is there keeps what is in it."""
        key = "/" + "/".join(parts(path) or ())
        if key not in self._children:
            self._children[self._claim(key)] = {}
        self._modes[key] = stat.S_IFDIR | stat.S_IMODE(mode)

    def read(self, path: str) -> Read:
        """The whole file, up to its first NUL."""
        where = self._where(path)
        if where is None or where in self._children:
            return Read(None, errno.ENOENT if where is None else errno.EISDIR)
        data = self._files.get(where, b"")
        if data is None:
            return Read(None, errno.EFBIG)
        end = data.find(b"\0")
        return Read((data if end < 0 else data[:end]).decode("utf-8", "surrogateescape"))

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, numbers by value."""
        where = self._where(folder)
        return tuple(sorted(self._children.get(where or "", ()), key=natural))

    def real(self, path: str) -> str | None:
        """The path without links, when something is there."""
        return self._where(path)

    def stat(self, path: str) -> Stat | None:
        """Mode as captured."""
        where = self._where(path)
        return Stat(self._modes.get(where, stat.S_IFDIR | 0o755)) if where is not None else None

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """Nothing runs in a tree."""
        return Ran(127, err=f"{argv[0]}: not captured")

    def _where(self, path: str) -> str | None:
        """Where the path leads, when something is there. The way to a folder is worked out once."""
        head, _, name = path.rpartition("/")
        if name in {"", ".", ".."} or "\0" in name:
            found = resolve(path, self._links.get)
            return found if found in self._files or found in self._children else None
        if head not in self._folders:
            self._folders[head] = resolve(head or "/", self._links.get)
        folder = self._folders[head]
        if folder is None:
            return None
        found = f"/{name}" if folder == "/" else f"{folder}/{name}"
        if found in self._links:
            found = resolve(found, self._links.get) or ""
        return found if found in self._files or found in self._children else None

    def _claim(self, path: str) -> str:
        """Make room at a path: the folders above it exist, and nothing else stands there."""
        pieces = parts(path)
        if not pieces:
            raise ValueError(f"{path!r} is no path of a file; accepted: an absolute one without '..'")
        self._folders.clear()
        folder = "/"
        for piece in pieces[:-1]:
            self._children[folder][piece] = None
            folder = f"/{piece}" if folder == "/" else f"{folder}/{piece}"
            if folder not in self._children:
                self._forget(folder)
                self._children[folder] = {}
        key = "/" + "/".join(pieces)
        self._children[folder][pieces[-1]] = None
        self._forget(key)
        return key

    def _forget(self, key: str) -> None:
        self._files.pop(key, None)
        self._links.pop(key, None)
        for child in self._children.pop(key, {}):
            self._forget(f"{key}/{child}")
        self._modes.pop(key, None)
