"""A node's pool of hugepages of one size: the kernel fills it as far as it can, and says yes either way."""

from __future__ import annotations

from numatune.discover.read import integer
from numatune.engine.kinds.access import refused
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Impact, Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import HugepagePool


def look(target: HugepagePool, setting: Setting, reader: Reader) -> Observation:
    """The persistent pages. `effective` tells when the pool has surplus pages besides, which go with their last user.

    Whether it can be written is asked only where the wanted count is not held; `errno` beside a text then says why not.
    """
    where = f"{target.folder}/nr_hugepages"
    total = reader.read(where)
    if total.text is None:
        return Observation(None, total.errno, where)
    text, effective = total.text, None
    surplus = _count(reader.read(f"{target.folder}/surplus_hugepages").text)
    if surplus:
        text, effective = f"{_count(total.text) - surplus}\n", f"{_count(total.text)} with {surplus} surplus"
    if setting.want is None or meets(setting.codec, setting.want, text):
        return Observation(text, where=where, effective=effective)
    refusal = refused(where, reader)
    return Observation(text, refusal, where, effective=effective, writable=not refusal)


def write(target: HugepagePool, change: Change, host: Host) -> int:
    """Ask for the pages. Where disruption is allowed and they fall short: compact the node and ask once more.

    0 or the errno; falling short is no error here, the read-back after all writes tells it. A kernel without
    compaction (ENOENT) leaves the shortfall as it is.
    """
    where = f"{target.folder}/nr_hugepages"
    for text in change.writes:
        if failed := host.write(where, text):
            return failed
        held = look(target, change.setting, host).text or ""
        if change.impact is Impact.DISRUPTS and not meets(change.setting.codec, text, held):
            host.write(f"/sys/devices/system/node/node{target.node}/compact", "1")
            if failed := host.write(where, text):
                return failed
    return 0


def _count(text: str | None) -> int:
    """A number of pages; 0 where the kernel has no such file."""
    return integer((text or "").strip()) or 0
