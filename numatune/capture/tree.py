"""Files as a shell named them, put where they really are: links stay links, and nothing leads out of the tree."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from numatune.capture.allowed import PROPERTIES, globs
from numatune.capture.reduce import reduced
from numatune.capture.scrub import Scrub
from numatune.capture.stream import Taken
from numatune.host.paths import resolve
from numatune.host.protocol import Ran
from numatune.host.told import Manifest

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MOUNTS = ("/proc/1/mounts", "/proc/self/mounts", "/proc/mounts")
_FILE, _FOLDER = 0o644, 0o755


@dataclass(frozen=True, slots=True)
class Tree:
    """Ready to be packed: paths are real, texts reduced and scrubbed. Modes are permission bits."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    manifest: Manifest = field(default_factory=Manifest)


def tree_of(taken: Taken, version: str, *, inside: bool = False) -> Tree:
    """What travels of what was taken. `inside`: the root was a folder, so an absolute link led the shell out of it."""
    scrub = Scrub(taken.texts.get(_BOOT_ID, b""))
    taken = _scrubbed(taken, scrub)
    outside = tuple(path for path, target in taken.links.items() if inside and target.startswith("/"))
    tree = Tree()
    _put_links(taken, tree, outside)
    unreadable: dict[str, int] = {}
    for path in _readable(taken):
        where = None if _below(path, outside) else resolve(path, tree.links.get)
        if where is None:
            continue
        mode = _FILE if path in taken.links else taken.modes.get(path, _FILE) & 0o7777
        if path in taken.refused:
            unreadable[where] = taken.refused[path]
            tree.files.setdefault(where, (b"", mode))
        else:
            tree.files[where] = (taken.texts[path], mode)
    answers = tuple((_argv(unit), ran) for unit, ran in sorted(taken.answers.items()))
    _choose_mounts(tree, unreadable)
    manifest = Manifest(globs=globs(), unreadable=unreadable, answers=answers, version=version)
    return Tree(tree.files, tree.folders, tree.links, manifest)


def _argv(unit: str) -> tuple[str, ...]:
    return ("systemctl", "show", *(word for name in PROPERTIES for word in ("-p", name)), "--", unit)


def _readable(taken: Taken) -> Iterable[str]:
    """Files by path; a link's own name after that of the file, whose mode counts."""
    return sorted((*taken.texts, *taken.refused), key=lambda path: path not in taken.links)


def _put_links(taken: Taken, tree: Tree, outside: tuple[str, ...]) -> None:
    """Links, outer ones first, so that the way to inner ones is known; then the folders that they and others are."""
    for path in sorted(taken.links, key=lambda path: path.count("/")):
        folder, _, name = path.rpartition("/")
        above = resolve(folder or "/", tree.links.get)
        if above is not None and not _below(folder, outside):
            tree.links[f"{above.rstrip('/')}/{name}"] = taken.links[path]
    folders = {path: mode & 0o7777 for path, mode in taken.modes.items() if stat.S_ISDIR(mode)}
    led = [path for path, kind in taken.leads.items() if kind == "d"]
    for path, mode in (*((path, _FOLDER) for path in led), *folders.items()):
        where = None if _below(path, outside) else resolve(path, tree.links.get)
        if where is not None and where != "/":
            tree.folders[where] = mode


def _below(path: str, outside: tuple[str, ...]) -> bool:
    return any(path == link or path.startswith(f"{link}/") for link in outside)


def _scrubbed(taken: Taken, scrub: Scrub) -> Taken:
    def text(path: str, data: bytes) -> bytes:
        told = data.decode("utf-8", "surrogateescape")
        if path == _BOOT_ID:
            return f"{scrub.token(told, 32)}\n".encode()
        return scrub(reduced(path, told)).encode("utf-8", "surrogateescape")

    return Taken(
        modes={scrub(path): mode for path, mode in taken.modes.items()},
        links={scrub(path): scrub(target) for path, target in taken.links.items()},
        leads={scrub(path): kind for path, kind in taken.leads.items()},
        texts={scrub(path): text(path, data) for path, data in taken.texts.items()},
        refused={scrub(path): code for path, code in taken.refused.items()},
        answers={scrub(unit): Ran(ran.code, scrub(ran.out), scrub(ran.err)) for unit, ran in taken.answers.items()},
    )


def _choose_mounts(tree: Tree, unreadable: dict[str, int]) -> None:
    """One table of mounts, that of process 1 where it could be read: the others show the same, or a container's."""
    told = [tree.files.pop(path) for path in _MOUNTS if path in tree.files and path not in unreadable]
    for path in _MOUNTS:
        tree.files.pop(path, None)
        unreadable.pop(path, None)
    if told:
        tree.files["/proc/mounts"] = told[0]
