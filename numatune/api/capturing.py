"""A host's tree as an archive that every other command reads with --root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.capture.way import Way


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture holds. `unreadable`: path -> errno of what this user could not read there."""

    path: str
    host: str
    size: int
    files: int
    links: int
    answers: int
    unreadable: Mapping[str, int]


def capture(out: str, *, host: str = "", root: str = "/", units: Iterable[str] = (), force: bool = False) -> Captured:
    """Capture a host into `out`, an archive with mode 0600. Needs no root; what it cannot read is named.

    host   ``ssh://[user@]host[:port]``, "" for this host. One round trip; nothing is installed or written there
    root   of this host: "/", or the folder that is a live host's tree
    units  systemd units whose state to take beside the known tuners and all slices
    force  replace a file that is there

    Raises UsageError, HostError (no such host, a stream that was cut off, `out` is there). Then nothing is written.
    """
    from numatune.capture import way

    return capture_by(way.over_ssh(host) if host else way.here(root), str(out), units=units, force=force)


def capture_by(there: Way, path: str, *, units: Iterable[str] = (), force: bool = False) -> Captured:
    """Capture what is at the end of a way. Raises as `capture`."""
    from numatune import __version__
    from numatune.capture import pack, stream, way
    from numatune.capture.tree import tree_of

    named = tuple(units)
    _check_units(named)
    pack.check(path, force=force)
    data, mark = way.take(there, named)
    tree = tree_of(stream.parse(data, mark, there.name), __version__, inside=there.root != "/")
    size = pack.write(path, tree, force=force)
    told = tree.manifest
    return Captured(path, there.name, size, len(tree.files), len(tree.links), len(told.answers), told.unreadable)


def _check_units(units: Iterable[str]) -> None:
    import re

    from numatune.errors import UsageError

    for unit in units:
        if not re.fullmatch(r"[A-Za-z0-9_.:@\\][A-Za-z0-9_.:@\\-]*\.[a-z]+", unit, re.ASCII):
            raise UsageError("--unit", f"{unit!r} is no name of a unit", accepted="one like vllm.service")
