"""What the profile asked for and this host has none of."""

from __future__ import annotations

import errno

from numatune.host.protocol import Host, Reader
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import Nothing


def look(target: Nothing, setting: Setting, reader: Reader) -> Observation:  # noqa: ARG001  # one signature for all kinds
    """There is nothing to see."""
    return Observation(None, errno.ENOENT)


def write(target: Nothing, change: Change, host: Host) -> int:  # noqa: ARG001  # one signature for all kinds
    """No plan writes to nothing; ENOENT says so if one ever does."""
    return errno.ENOENT
