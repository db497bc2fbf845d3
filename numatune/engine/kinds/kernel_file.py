"""A text file of /proc or /sys, under the first of its names that this kernel has."""

from __future__ import annotations

import errno

from numatune.engine.kinds import cgroup
from numatune.engine.kinds.access import refused
from numatune.host.protocol import Host, Read, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import KernelFile

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})


def look(target: KernelFile, setting: Setting, reader: Reader) -> Observation:
    """What the file says, and what is in force where another file tells that.

    Whether it can be written is asked only where the wanted value is not held; `errno` beside a text then says why not.
    """
    where, found = _first(target, reader)
    if found.text is None:
        return Observation(None, found.errno, where)
    effective = reader.read(target.effective).text if target.effective else None
    if setting.want is None or meets(setting.codec, setting.want, found.text):
        return Observation(found.text, where=where, effective=effective)
    refusal = refused(where, reader)
    users = cgroup.hurt(setting, found.text, where.rpartition("/")[0], reader)
    return Observation(
        found.text, refusal, where, effective=effective, writable=not refusal, in_use=bool(users), users=users
    )


def write(target: KernelFile, change: Change, host: Host) -> int:
    """Each text as one write, to the name that the file has now. 0, or the errno of the first that is refused."""
    where, _ = _first(target, host)
    for text in change.writes:
        if failed := cgroup.still_used(where, text, host) or host.write(where, text):
            return failed
    return 0


def _first(target: KernelFile, reader: Reader) -> tuple[str, Read]:
    """The first name that is there, readable or not; the first of all when none is."""
    for path in target.paths:
        found = reader.read(path)
        if found.errno not in _ABSENT:
            return path, found
    return target.paths[0], Read(None, errno.ENOENT)
