"""Which boot of the host this is."""

from __future__ import annotations

from numatune.host.protocol import Reader

_FILE = "/proc/sys/kernel/random/boot_id"


def boot_id(reader: Reader) -> str:
    """The kernel's own id of its boot, "" where it tells none. Live values of another boot are void."""
    return (reader.read(_FILE).text or "").strip()
