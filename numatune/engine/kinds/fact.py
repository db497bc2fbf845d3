"""What one file tells and is never written: the kernel command line, the width of a link."""

from __future__ import annotations

import errno

from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import Cmdline
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import Fact


def look(target: Fact, setting: Setting, reader: Reader) -> Observation:
    """Of the first of its files that is there: of a kernel command line only what is asked for, no more is kept."""
    for path in target.paths:
        found = reader.read(path)
        if found.errno != errno.ENOENT:
            return Observation(_asked(setting, found.text), found.errno, path)
    return Observation(None, errno.ENOENT, target.paths[0])


def write(target: Fact, change: Change, host: Host) -> int:  # noqa: ARG001  # one signature for all kinds
    """No plan writes a fact; EPERM says so if one ever does."""
    return errno.EPERM


def _asked(setting: Setting, text: str | None) -> str | None:
    if text is None or setting.want is None or not isinstance(setting.codec, Cmdline):
        return text
    return setting.codec.about(setting.want, text)
