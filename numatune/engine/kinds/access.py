"""Whether root could write somewhere, as far as mount and mode tell."""

from __future__ import annotations

import errno

from numatune.host.protocol import Reader

_WRITABLE = 0o200


def refused(where: str, reader: Reader) -> int:
    """The errno that a write to a file, or making something in a folder, would get; 0 when nothing is known against it.

    The owner's bit counts for root too: /proc/sys and read-only sysfs attributes answer root with EACCES.
    """
    state = reader.stat(where)
    if state is None:
        return 0
    if state.read_only:
        return errno.EROFS
    return 0 if state.mode & _WRITABLE else errno.EACCES
