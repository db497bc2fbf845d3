"""Trees of hosts with changes laid over them. A tree is made once and copied for each case."""

from __future__ import annotations

import functools
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

from fakes.trees import LINK, host_tree, memory

from fuzz.case import Case, Held
from numatune.host.captured import open_tree
from numatune.host.memory import MemoryTree
from numatune.host.protocol import Reader

CAPTURES = Path(os.environ.get("NUMATUNE_CAPTURES") or Path(__file__).parents[3] / "shared/captures")
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in CAPTURES.glob("*.tar.xz"))


class ChangedTree(MemoryTree):
    """A tree in memory from which things can vanish."""

    def change(self, path: str, held: Held) -> None:
        """Let a path hold something else; what cannot be a path is left out."""
        if "\0" in path or ".." in path.split("/"):
            return
        if held is None:
            self.remove(path)
        elif path.endswith("/"):
            self.remove(path.rstrip("/"))
            self.folder(path.rstrip("/"))
        elif isinstance(held, str) and held.startswith(LINK):
            self.link(path, held[len(LINK) :])
        else:
            self.put(path, held.encode("utf-8", "surrogatepass") if isinstance(held, str) else held)

    def remove(self, path: str) -> None:
        """Take a file, or a folder with all that is in it, away."""
        above, _, name = path.rpartition("/")
        self._forget(path)
        self._children.get(above or "/", {}).pop(name, None)
        self._folders.clear()

    def paths(self, folder: str = "") -> Iterator[str]:
        """All files, without those behind links."""
        for name in self._children.get(folder or "/", ()):
            path = f"{folder}/{name}"
            if path in self._children:
                yield from self.paths(path)
            else:
                yield path


def tree(case: Case) -> Reader:
    """The host of a case."""
    pickled = _captured(case.captured) if case.captured else _generated(repr(sorted(case.host.items())), case)
    made = ChangedTree(case.captured or "generated")
    made.__dict__.update(pickle.loads(pickled).__dict__)  # noqa: S301  # our own
    for path, held in case.tree.items():
        made.change(path, held)
    return made


@functools.cache
def captured_paths(name: str) -> tuple[str, ...]:
    """The paths of a captured host."""
    made = ChangedTree(name)
    made.__dict__.update(pickle.loads(_captured(name)).__dict__)  # noqa: S301  # our own
    return tuple(made.paths())


@functools.cache
def _captured(name: str) -> bytes:
    return pickle.dumps(open_tree(str(CAPTURES / f"{name}.tar.xz")))


_GENERATED: dict[str, bytes] = {}


def _generated(key: str, case: Case) -> bytes:
    if key not in _GENERATED:
        _GENERATED[key] = pickle.dumps(memory(host_tree(**case.host)))
    return _GENERATED[key]
