"""A kernel to write to: a Host over a dict of texts, with behaviours that couple, clamp, refuse and make files.

A tree maps absolute paths to texts. A text that starts with ``-> `` is a link, its target absolute or relative to the
link's folder. A path that ends in ``/`` is an empty folder. All other folders follow from the paths below them.

All state is in the kernel (`files`, `modes`, `links`, `folders`, `facts`), none in a behaviour, so `copy()` is cheap.
"""

from __future__ import annotations

import errno
import posixpath
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fakes.mounts import MountCalls
from numatune.host.paths import natural
from numatune.host.protocol import Ran, Read, Stat

LINK = "-> "
Hook = Callable[[str, str], None]


class Behaviour:
    """One coupling of a kernel. Every method answers None for what is none of its business; then the next is asked.

    Paths arrive with all links resolved, texts as they were written. `write` gets only what mode bits and mounts let
    through, and never an empty text (which is a no-op in every kernel).
    """

    def start(self, kernel: FakeKernel) -> None:
        """Called once, when the tree is laid: to make the files that follow from it."""

    def read(self, kernel: FakeKernel, path: str) -> Read | None:  # noqa: ARG002
        return None

    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:  # noqa: ARG002
        return None

    def refused(self, kernel: FakeKernel, path: str, mode: int) -> int | None:  # noqa: ARG002
        """The errno of a write to a file whose mode bits say no, where that is not EACCES."""
        return None

    def make(self, kernel: FakeKernel, folder: str) -> int | None:  # noqa: ARG002
        return None

    def drop(self, kernel: FakeKernel, path: str) -> int | None:  # noqa: ARG002
        return None

    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:  # noqa: ARG002
        return None

    def snapshot(self, kernel: FakeKernel, state: dict[str, str]) -> None:
        """Change what `state()` tells: leave out what the kernel does not keep, name things by what does not change."""


class FakeKernel(MountCalls):
    """See the module. `modes` are laid over those that the tree brings itself (its attribute `modes`).

    `hook(moment, what)` is called "before" and "after" each host write; `log` holds the writes.
    """

    def __init__(  # noqa: PLR0913  # a kernel differs from the usual one in one or two of them
        self,
        tree: Mapping[str, str],
        *,
        modes: Mapping[str, int] | None = None,
        behaviours: Iterable[Behaviour] | None = None,
        read_only: Iterable[str] = (),
        uid: int = 0,
        live: bool = True,
    ) -> None:
        if behaviours is None:
            from fakes.usual import USUAL  # noqa: PLC0415  # the behaviours import this module

            behaviours = USUAL
        self.files: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()
        self.modes: dict[str, int] = {**getattr(tree, "modes", {}), **(modes or {})}
        self.facts: dict[str, str] = {}
        self.read_only = tuple(read_only)
        self.uid = uid
        self.behaviours = tuple(behaviours)
        self.hook: Hook = lambda moment, what: None  # noqa: ARG005
        self.log: list[tuple[str, str]] = []
        self._live = live
        self._inodes: dict[str, int] = {}
        self._last_inode = 100
        self._index: dict[str, set[str]] | None = None
        self._index_is_shared = False
        for path, text in tree.items():
            self.put(path, text)
        for behaviour in self.behaviours:
            behaviour.start(self)

    def copy(self) -> FakeKernel:
        """A kernel in the same state that shares nothing with this one but the behaviours."""
        self._index_is_shared = True
        made = FakeKernel.__new__(FakeKernel)
        made.__dict__.update(self.__dict__)
        for name in ("files", "links", "folders", "modes", "facts", "_inodes", "log"):
            setattr(made, name, getattr(self, name).copy())
        made.hook = lambda moment, what: None  # noqa: ARG005
        return made

    def state(self) -> dict[str, str]:
        """Everything that a rollback must bring back: paths to texts, links, made folders, facts."""
        links = {path: f"{LINK}{target}" for path, target in self.links.items()}
        out = {**self.files, **links, **{f"{folder}/": "" for folder in self.folders}, **self.facts}
        for behaviour in self.behaviours:
            behaviour.snapshot(self, out)
        return out

    # what behaviours and tests use; no hook, no log, no refusal

    def put(self, path: str, text: str, mode: int | None = None) -> None:
        """Somebody else, or the kernel itself, puts a file (or link, or folder) there."""
        new = path not in self.files
        if path.endswith("/"):
            self.folders.add(path.rstrip("/"))
        elif text.startswith(LINK):
            self.links[path] = posixpath.normpath(posixpath.join(posixpath.dirname(path), text[len(LINK) :].strip()))
        else:
            self.files[path] = text
        if mode is not None:
            self.modes[path] = mode
        if new and self._index is not None:
            if self._index_is_shared:
                self._index, self._index_is_shared = {name: set(held) for name, held in self._index.items()}, False
            self._enter(self._index, path.rstrip("/"))
            if path.endswith("/"):
                self._index.setdefault(path.rstrip("/"), set())

    def remove(self, path: str) -> None:
        """Take a file, or a folder with all below it, away."""
        below = f"{path}/"
        for held in (self.files, self.links, self.modes, self._inodes):
            for name in [name for name in held if name == path or name.startswith(below)]:
                del held[name]  # type: ignore[attr-defined]
        self.folders = {name for name in self.folders if name != path and not name.startswith(below)}
        self._index = None

    def is_folder(self, path: str) -> bool:
        return path == "/" or path in self._children()

    def _children(self) -> dict[str, set[str]]:
        """Names by folder."""
        if self._index is None:
            self._index, self._index_is_shared = {}, False
            for path in (*self.files, *self.links, *self.folders):
                self._enter(self._index, path)
            for folder in self.folders:
                self._index.setdefault(folder, set())
        return self._index

    def _enter(self, index: dict[str, set[str]], path: str) -> None:
        while path:
            parent, _, name = path.rpartition("/")
            names = index.setdefault(parent or "/", set())
            if name in names:
                return
            names.add(name)
            path = parent

    # Reader

    @property
    def root(self) -> str:
        return "/"

    @property
    def live(self) -> bool:
        return self._live

    def real(self, path: str) -> str | None:
        if path in self.files or path in self.folders:
            return path
        at = "/"
        parts = [part for part in path.split("/") if part][::-1]
        for _ in range(200):
            if not parts:
                return at if at in self.files or self.is_folder(at) else None
            at = posixpath.normpath(posixpath.join(at, parts.pop()))
            if at in self.links:
                parts += [part for part in self.links[at].split("/") if part][::-1]
                at = "/"
        return None

    def read(self, path: str) -> Read:
        real = self.real(path)
        if real is None:
            return Read(None, errno.ENOENT)
        for behaviour in self.behaviours:
            answer = behaviour.read(self, real)
            if answer is not None:
                return answer
        if real not in self.files:
            return Read(None, errno.EISDIR)
        if self.uid and not self.modes.get(real, 0o644) & 0o004:
            return Read(None, errno.EACCES)
        return Read(self.files[real].partition("\0")[0])

    def names(self, folder: str) -> tuple[str, ...]:
        real = self.real(folder)
        found = self._children().get(real, set()) if real else set()
        return tuple(sorted(found, key=natural))

    def stat(self, path: str) -> Stat | None:
        real = self.real(path)
        if real is None:
            return None
        if real not in self._inodes:
            self._last_inode += 1
            self._inodes[real] = self._last_inode
        kind, usual = (stat.S_IFREG, 0o644) if real in self.files else (stat.S_IFDIR, 0o755)
        return Stat(kind | self.modes.get(real, usual), self._inodes[real], 0, self._is_read_only(real))

    def ask(self, argv: tuple[str, ...]) -> Ran:
        return self._command(argv)

    def _command(self, argv: tuple[str, ...]) -> Ran:
        for behaviour in self.behaviours:
            answer = behaviour.command(self, argv)
            if answer is not None:
                return answer
        return Ran(127, "", f"{argv[0]}: not there")

    def _is_read_only(self, path: str) -> bool:
        return any(path == mount or path.startswith(f"{mount.rstrip('/')}/") for mount in self.read_only)

    # Host

    def write(self, path: str, text: str) -> int:
        return self._hooked(path, text, lambda: self._write(path, text))

    def make(self, folder: str) -> int:
        return self._hooked(folder, "<make>", lambda: self._make(folder))

    def drop(self, path: str) -> int:
        return self._hooked(path, "<drop>", lambda: self._drop(path))

    def replace(self, path: str, text: str, mode: int) -> int:
        return self._hooked(path, text, lambda: self._replace(path, text, mode))

    def run(self, argv: tuple[str, ...]) -> Ran:
        return self._hooked(" ".join(argv), "<run>", lambda: self._command(argv))

    def _hooked(self, path: str, text: str, do: Callable[[], Any]) -> Any:
        self.hook("before", path)
        self.log.append((path, text))
        answer = do()
        self.hook("after", path)
        return answer

    def _write(self, path: str, text: str) -> int:
        real = self.real(path)
        if real is None:
            return errno.ENOENT
        if real not in self.files:
            return errno.EISDIR
        if self._is_read_only(real):
            return errno.EROFS
        mode = self.modes.get(real, 0o644)
        if not mode & (0o002 if self.uid else 0o200):
            return self._first(errno.EACCES, lambda behaviour: behaviour.refused(self, real, mode))
        if text == "":
            return 0
        answer = self._first(None, lambda behaviour: behaviour.write(self, real, text))
        if answer is None:
            self.files[real] = f"{text.strip()}\n"
        return answer or 0

    def _first(self, default: Any, ask: Callable[[Behaviour], Any]) -> Any:
        answers = (ask(behaviour) for behaviour in self.behaviours)
        return next((answer for answer in answers if answer is not None), default)

    def _make(self, folder: str) -> int:
        parent = self.real(posixpath.dirname(folder))
        if parent is None:
            return errno.ENOENT
        if self._is_read_only(parent):
            return errno.EROFS
        if self.uid:
            return errno.EACCES
        if self.real(folder) is not None:
            return errno.EEXIST
        made = posixpath.join(parent, posixpath.basename(folder))
        answer = self._first(None, lambda behaviour: behaviour.make(self, made))
        if answer is None:
            self.put(f"{made}/", "")
        return answer or 0

    def _drop(self, path: str) -> int:
        real = self.real(path)
        if real is None:
            return errno.ENOENT
        if self._is_read_only(real):
            return errno.EROFS
        if self.uid:
            return errno.EACCES
        answer = self._first(None, lambda behaviour: behaviour.drop(self, real))
        if answer is not None:
            return int(answer)
        if real not in self.files and self.names(real):
            return errno.ENOTEMPTY
        self.remove(real)
        return 0

    def _replace(self, path: str, text: str, mode: int) -> int:
        if self._is_read_only(path):
            return errno.EROFS
        if self.uid:
            return errno.EACCES
        self._inodes.pop(path, None)
        folder = posixpath.dirname(path)
        while not self.is_folder(folder):
            self.put(f"{folder}/", "")
            folder = posixpath.dirname(folder)
        self.put(path, text, mode)
        return 0
