"""A tmpfs: mounted or not, and one of its options.

The policy of a mount is taken over by each file when the file is made: files that are there keep theirs. A mount is
never taken away with files in it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping

from numatune.host.mounts import Mounted, mounted, table
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import Mount, MountOption

_SHARED = "/dev/shm"  # noqa: S108  # where POSIX shared memory is; nothing is put there
_UNSET: Mapping[str, str] = {"mpol": "default", "huge": "never", "size": ""}
"""What an option means that is not shown."""
_KIB = re.compile(r"(\d{1,18})k\Z")
_CONTAINER = re.compile(
    r"(?:^|/)(?:(docker|libpod|crio|cri-containerd)-)?([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?:/|\Z)"
)
_PIECES = 3
"""Names of files that are in the way."""
_MOST = 12
"""Whom a remount does not reach is named up to this number."""

REFUSALS: Mapping[int, tuple[Status, str]] = {
    errno.ENOENT: (Status.FAILED, "the folder around it is not there"),
    errno.EPERM: (Status.DENIED, "this is not root, or the folder is somebody else's"),
    errno.ELOOP: (Status.DENIED, "a link leads to it, and nothing is mounted where somebody's link points"),
    errno.EBUSY: (Status.FAILED, "files of it are in use"),
    errno.ENOTEMPTY: (Status.FAILED, "files are in it: they are neither hidden nor lost, remove them first"),
    errno.ENOSYS: (Status.UNSUPPORTED, "one option of a mount can be changed since Linux 5.4"),
    errno.EINVAL: (Status.FAILED, "the kernel knows no such policy or node, or more is used than that size"),
}


def look(target: Mount, setting: Setting, reader: Reader) -> Observation:  # noqa: ARG001  # one signature for all kinds
    """Text "here" where a tmpfs is, its device as identity. Over a folder with anything in it nothing is mounted."""
    found = mounted(reader, target.path)
    if found is None or found.kind != "tmpfs":
        inside = reader.names(target.path)
        hides = f"{', '.join(inside[:_PIECES])} in it would be hidden" if inside else ""
        return Observation(None, errno.ENOENT, target.path, hands_off=hides)
    return Observation("here", 0, target.path, found.device)


def write(target: Mount, change: Change, host: Host) -> int:
    """Mount it on an empty folder, or take it away when no file is in it. 0 or the errno."""
    if host.names(target.path):
        return errno.ENOTEMPTY
    if change.action is Action.DELETE:
        return host.unmount(target.path)
    return host.mount(target.path, "tmpfs", target.options)


def look_at_option(target: MountOption, setting: Setting, reader: Reader) -> Observation:
    """The option's value, sizes in bytes. `not_reached`: who has a /dev/shm of its own, told while it would change."""
    found = mounted(reader, target.path)
    if found is None or found.kind != "tmpfs":
        return Observation(None, errno.ENOENT, target.path)
    shown = found.option(target.name)
    text = _UNSET[target.name] if shown is None else _bytes(shown)
    if target.path != _SHARED or setting.want is None or meets(setting.codec, setting.want, text):
        return Observation(text, where=target.path)
    return Observation(text, where=target.path, not_reached=tuple(_elsewhere(found, reader)))


def write_option(target: MountOption, change: Change, host: Host) -> int:
    """Give the file system each text in turn. 0 or the errno."""
    for text in change.writes:
        if failed := host.reconfigure(target.path, target.name, text):
            return failed
    return 0


def _bytes(shown: str) -> str:
    """``size=1024k`` in bytes; other words as they are."""
    found = _KIB.match(shown)
    return str(int(found[1]) << 10) if found else shown


def _elsewhere(ours: Mounted, reader: Reader) -> Iterator[str]:
    """Units and containers that see another /dev/shm: one process of each mount namespace is asked."""
    if not reader.live:
        return
    seen = {_namespace("self", reader)}
    named: dict[str, None] = {}
    for pid in reader.names("/proc"):
        namespace = _namespace(pid, reader) if pid.isdecimal() else 0
        if not namespace or namespace in seen:
            continue
        seen.add(namespace)
        theirs = [one for one in table(reader, pid) if one.point == _SHARED and one.kind == "tmpfs"]
        if theirs and theirs[-1].device != ours.device:
            named.setdefault(_name(pid, reader))
    yield from list(named)[:_MOST]
    if len(named) > _MOST:
        yield f"{len(named) - _MOST} more"


def _namespace(pid: str, reader: Reader) -> int:
    """The number of a process's mount namespace, 0 where nothing tells."""
    state = reader.stat(f"/proc/{pid}/ns/mnt")
    return state.inode if state else 0


def _name(pid: str, reader: Reader) -> str:
    """``container 0123456789ab (docker)``, the unit, or the process with its name."""
    lines = (reader.read(f"/proc/{pid}/cgroup").text or "").splitlines()
    path = max((line.split(":", 2)[-1] for line in lines), key=len, default="")
    if found := _CONTAINER.search(path):
        return f"container {found[2]}{f' ({found[1]})' if found[1] else ''}"
    unit = next((part for part in reversed(path.split("/")) if part.endswith((".service", ".scope"))), "")
    return unit or f"{pid} {(reader.read(f'/proc/{pid}/comm').text or '').strip()}"
