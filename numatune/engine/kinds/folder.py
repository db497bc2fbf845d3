"""A folder that is ours to make: there or not."""

from __future__ import annotations

import errno

from numatune.host.protocol import Host, Reader
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change, Observation
from numatune.settings.targets import Folder


def look(target: Folder, setting: Setting, reader: Reader) -> Observation:  # noqa: ARG001  # one signature for all kinds
    """Text "here". Where it is not: whether the folder around it takes a new one."""
    if reader.stat(target.path) is not None:
        return Observation("here", where=target.path)
    around = reader.stat(target.path.rpartition("/")[0] or "/")
    refusal = errno.EROFS if around is not None and around.read_only else 0
    return Observation(None, refusal or errno.ENOENT, target.path, writable=not refusal)


def write(target: Folder, change: Change, host: Host) -> int:
    """Make it, or remove it when it is empty. 0 or the errno."""
    return host.drop(target.path) if change.action is Action.DELETE else host.make(target.path)
