"""What is checked and never written: the kernel command line."""

from __future__ import annotations

import errno

from numatune.host.protocol import Host, Reader
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import Fact


def look(target: Fact, setting: Setting, reader: Reader) -> Observation:  # noqa: ARG001  # one signature for all kinds
    """The text of the first of its files that is there."""
    for path in target.paths:
        found = reader.read(path)
        if found.errno != errno.ENOENT:
            return Observation(found.text, found.errno, path)
    return Observation(None, errno.ENOENT, target.paths[0])


def write(target: Fact, change: Change, host: Host) -> int:  # noqa: ARG001  # one signature for all kinds
    """No plan writes a fact; EPERM says so if one ever does."""
    return errno.EPERM
