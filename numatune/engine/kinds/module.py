"""A module of the kernel: loaded or not, by modprobe and rmmod.

What is built in counts as loaded, and never goes. A module is unloaded by rmmod and not by ``modprobe -r``, which takes
away what the module needed besides, whoever loaded that.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping

from numatune.host.protocol import Host, Ran, Reader
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation, Status
from numatune.settings.targets import Module

LOADED, ABSENT = "loaded", "absent"

REFUSALS: Mapping[int, tuple[Status, str]] = {
    errno.ENOSYS: (Status.UNSUPPORTED, "this kernel loads no modules, or there is no modprobe here"),
    errno.ENOENT: (Status.UNSUPPORTED, "this kernel has no such module"),
    errno.EOPNOTSUPP: (Status.UNCHANGEABLE, "it is built into this kernel"),
    errno.EBUSY: (Status.FAILED, "something uses it"),
    errno.EPERM: (Status.DENIED, "this is not root, or modules can no longer be loaded (kernel.modules_disabled)"),
    errno.EKEYREJECTED: (Status.DENIED, "nobody that this kernel trusts has signed it (Secure Boot)"),
    errno.EIO: (Status.FAILED, "modprobe failed"),
}
_MEANINGS = (
    ("Key was rejected", errno.EKEYREJECTED),
    ("Required key not available", errno.EKEYREJECTED),
    ("Operation not permitted", errno.EPERM),
    ("is builtin", errno.EOPNOTSUPP),
    ("is in use", errno.EBUSY),
    ("Resource temporarily unavailable", errno.EBUSY),
    ("not found", errno.ENOENT),
    ("Unknown symbol", errno.ENOENT),
)
"""What modprobe and rmmod of kmod and of busybox say in the C locale, as the errno of the same meaning."""
_MISSING_COMMAND = 127


def look(target: Module, setting: Setting, reader: Reader) -> Observation:
    """Text "loaded" or "absent". Whether it could be otherwise is asked only where it is not as wanted."""
    where = f"/sys/module/{target.name}"
    builtin = _is_builtin(target.name, reader)
    if reader.stat("/sys/module") is None:
        return Observation(None, errno.ENOENT, where)
    text = LOADED if builtin or reader.stat(where) is not None else ABSENT
    if setting.want in {None, text}:
        return Observation(text, where=where)
    if text == LOADED:
        refusal = errno.EOPNOTSUPP if builtin else 0
        users = reader.names(f"{where}/holders")
        return Observation(text, refusal, where, writable=not refusal, in_use=True, users=users)
    refusal = _cannot_come(target.name, reader)
    return Observation(text, refusal, where, writable=False if refusal else None)


def write(target: Module, change: Change, host: Host) -> int:
    """Load it or take it away. 0 or the errno."""
    for word in change.writes:
        argv = ("modprobe", "--", target.name) if word.strip() == LOADED else ("rmmod", "--", target.name)
        if failed := _errno_of(host.run(argv)):
            return failed
    return 0


def _is_builtin(name: str, reader: Reader) -> bool:
    """A folder without `initstate` is one of a built-in module; one without parameters is in a list only."""
    folder = f"/sys/module/{name}"
    if reader.stat(folder) is not None:
        return reader.stat(f"{folder}/initstate") is None
    release = (reader.read("/proc/sys/kernel/osrelease").text or "").strip()
    listed = reader.read(f"/lib/modules/{release}/modules.builtin").text or ""
    return any(_named(line) == name for line in listed.splitlines())


def _named(path: str) -> str:
    """``kernel/net/ipv4/tcp_bbr.ko`` is the module tcp_bbr."""
    return path.rpartition("/")[2].partition(".")[0].replace("-", "_")


def _cannot_come(name: str, reader: Reader) -> int:
    """The errno that loading it would get, as far as a dry run tells; 0 when nothing speaks against it."""
    if not reader.live:
        return 0
    if reader.stat("/proc/modules") is None:
        return errno.ENOSYS
    return _errno_of(reader.ask(("modprobe", "--dry-run", "--", name)))


def _errno_of(ran: Ran) -> int:
    if ran.code == 0:
        return 0
    if ran.code == _MISSING_COMMAND:
        return errno.ENOSYS
    return next((code for words, code in _MEANINGS if words in ran.err), errno.EIO)
