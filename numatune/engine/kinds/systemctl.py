"""Asking systemd, and telling it: always an argv list, never a shell string."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from numatune.host.protocol import Host, Ran, Reader
from numatune.settings.plan import Status

NOT_SYSTEMD = errno.ENOSYS
"""There is no systemctl, or no systemd behind it."""

_BOOTED = "/run/systemd/system"
"""There exactly while systemd is process 1 (sd_booted(3))."""

_NOT_BOOTED = ("has not been booted with systemd", "Host is down", "Failed to connect to bus")
_MEANINGS = (
    ("not been booted with systemd", errno.ENOSYS),
    ("Access denied", errno.EACCES),
    ("authentication required", errno.EACCES),
    ("Permission denied", errno.EACCES),
    ("Read-only file system", errno.EROFS),
    ("already exists", errno.EEXIST),
    ("File exists", errno.EEXIST),
    ("not found", errno.ENOENT),
    ("does not exist", errno.ENOENT),
    ("not loaded", errno.ENOENT),
    ("is masked", errno.EPERM),
    ("Unknown assignment", errno.EOPNOTSUPP),
)
"""What systemctl says on its standard error in the C locale, as the errno of the same meaning."""

_MISSING_COMMAND = 127
_TIMED_OUT = 124


REFUSALS: Mapping[int, tuple[Status, str]] = {
    errno.ENOSYS: (Status.DENIED, "systemd cannot be asked here"),
    errno.EACCES: (Status.DENIED, "systemd lets only root do it"),
    errno.EROFS: (Status.DENIED, "the folders of systemd are on a read-only mount"),
    errno.EPERM: (Status.FAILED, "the unit is masked"),
    errno.ENOENT: (Status.UNSUPPORTED, "the unit is not installed"),
    errno.EEXIST: (Status.FAILED, "the administrator's own unit file is in the way of the mask"),
    errno.EOPNOTSUPP: (Status.UNSUPPORTED, "this version of systemd has no such property (AllowedCPUs= came with 244)"),
    errno.EIO: (Status.FAILED, "systemctl failed"),
}
"""What a refusal of systemctl means, by the errno that `errno_of` makes of it."""


def show(unit: str, properties: tuple[str, ...], reader: Reader) -> Mapping[str, str] | int:
    """Properties of a unit by name, or an errno: NOT_SYSTEMD, or why it did not answer. An unknown unit answers too."""
    if reader.live and reader.stat(_BOOTED) is None:
        return NOT_SYSTEMD
    asked = tuple(part for name in properties for part in ("-p", name))
    ran = reader.ask(("systemctl", "show", *asked, "--", unit))
    if failed := errno_of(ran):
        return failed
    return dict(line.partition("=")[::2] for line in ran.out.splitlines() if "=" in line)


def tell(argv: tuple[str, ...], host: Host) -> int:
    """``systemctl`` with these arguments, as root without a password prompt. 0 or the errno."""
    return errno_of(host.run(("systemctl", "--no-ask-password", *argv)))


def unknown(code: int) -> tuple[Status, str]:
    """What it means that nothing is known of a unit: its row's status, and why in words."""
    if known := REFUSALS.get(code):
        return known
    return Status.DENIED, f"systemd does not answer ({errno.errorcode.get(code, str(code))})"


def errno_of(ran: Ran) -> int:
    """0 for success, else the errno that means what systemctl said; EIO when that is nothing known."""
    if ran.code == 0:
        return 0
    if ran.code == _MISSING_COMMAND or any(words in ran.err for words in _NOT_BOOTED):
        return NOT_SYSTEMD
    if ran.code == _TIMED_OUT:
        return errno.ETIMEDOUT
    return next((code for words, code in _MEANINGS if words in ran.err), errno.EIO)
