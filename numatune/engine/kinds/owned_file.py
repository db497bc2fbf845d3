"""A whole file that is ours alone, and the unit that reads it."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from numatune.engine.kinds.access import refused
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change, Observation
from numatune.settings.targets import OwnedFile

_UNIT_FOLDERS = ("/etc/systemd/", "/run/systemd/")


def look(target: OwnedFile, setting: Setting, reader: Reader) -> Observation:
    """The file's text. Where it is not as wanted: whether the nearest folder that is there can be written.

    Identity of a file that is not there: that folder. What is made below it goes with the file.
    """
    found = reader.read(target.path)
    if found.text is not None and (setting.want is None or meets(setting.codec, setting.want, found.text)):
        return Observation(found.text, where=target.path)
    folder = target.path.rpartition("/")[0]
    while folder and reader.stat(folder) is None:
        folder = folder.rpartition("/")[0]
    folder = folder or "/"
    refusal = refused(folder, reader)
    identity = folder if found.text is None else ""
    return Observation(found.text, refusal or found.errno, target.path, identity, writable=not refusal)


def write(target: OwnedFile, change: Change, host: Host) -> int:
    """Put the file in place, or take it away; then have its unit, if that runs, read it. 0 or the errno.

    A file that is gone already is no error: a deletion that was cut off between file and unit is done again.
    """
    if change.action is Action.DELETE:
        failed = host.drop(target.path)
        failed = 0 if failed == errno.ENOENT else failed
        _drop_folders(() if failed else made_for(target.path, change.seen.identity), host)
    else:
        failed = next((code for text in change.writes if (code := host.replace(target.path, text, target.mode))), 0)
    if failed or not target.restart or (target.through and host.stat(target.through) is None):
        return failed
    if target.path.startswith(_UNIT_FOLDERS):
        host.run(("systemctl", "daemon-reload"))
    return 0 if host.run(("systemctl", "try-restart", target.restart)).code in {0, _NO_SYSTEMCTL} else errno.EIO


def made_for(path: str, there: str) -> tuple[str, ...]:
    """The folders of a path below the one that was there before, deepest first. None where that is not known ("")."""
    made = []
    folder = path.rpartition("/")[0]
    while there and folder.startswith(f"{there.rstrip('/')}/"):
        made.append(folder)
        folder = folder.rpartition("/")[0]
    return tuple(made)


def _drop_folders(folders: Iterable[str], host: Host) -> None:
    """Remove those that are empty now. One that somebody has replaced by a link is not followed, and stays."""
    for folder in folders:
        if host.stat(folder) and (host.real(folder) != folder or host.drop(folder)):
            return


_NO_SYSTEMCTL = 127
