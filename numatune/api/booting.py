"""What a boot takes back before it makes the host as applied: what the boot before has left half-way.

A run that waited for its confirmation when the host went down: its time is over, and it may be why. An apply that was
cut off: the boot makes the host as the last whole apply says, and what it writes anew would be neither run's in the
boot after that. A rollback that was cut off: somebody had asked for it, and what it has given back is not to be made so
again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Host
    from numatune.settings.applied import Waiting


def take_back_first(host: Host, note_early: Callable[[], None]) -> bool:
    """With the lock held: take it back. Whether there was any; what is applied then is what was before.

    note_early  told before: what early boot has set, from files of ours, is numatune's in this boot, so that it goes
                when the files go
    """
    from numatune.api import log, restoring
    from numatune.engine import paths, store, when
    from numatune.errors import NumatuneError

    path = paths.confirm(paths.state(host.root))
    waiting = _unconfirmed(path, host)
    todo = dict(_half_way(host, waiting))
    if todo:
        with contextlib.suppress(NumatuneError):  # what cannot be worked out is not in force either
            note_early()
        for why in todo.values():
            log.line(why)
        restoring.take_back(host, since=min(todo))
    if waiting:
        store.save(path, replace(waiting, undone=when.stamp()))
    return bool(todo)


def _half_way(host: Host, waiting: Waiting | None) -> Iterator[tuple[int, str]]:
    """The oldest run that each of them is about, and what to say of it."""
    from numatune.api.memory import listed
    from numatune.engine import runs
    from numatune.engine.boot import boot_id

    known = listed(host)
    stack = {run.number for run in runs.to_take_back(known)}
    if waiting and waiting.run in stack:
        yield waiting.run, f"run {waiting.run} was not confirmed before the host was restarted, and is taken back"
    newest = runs.cut_off(known)
    if newest is None or newest.start.boot_id == boot_id(host):
        return
    cut_off = f"{newest.number} was cut off before the host was restarted, and is"
    if newest.number in stack:
        yield newest.number, f"run {cut_off} taken back"
    elif undoes := stack & set(newest.start.undoes):
        yield min(undoes), f"rollback {cut_off} finished"


def _unconfirmed(path: str, host: Host) -> Waiting | None:
    """What waited in an earlier boot."""
    from numatune.engine import store
    from numatune.engine.boot import boot_id
    from numatune.settings.applied import Waiting

    waiting = store.load(path, Waiting)
    return waiting if waiting and not waiting.undone and waiting.boot_id != boot_id(host) else None
