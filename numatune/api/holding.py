"""Holds: leave settings as they are for a while. Listing needs no root."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Host, Reader
    from numatune.settings.applied import Hold


def holds(reader: Reader) -> tuple[Hold, ...]:
    """The holds in force on this host, by id. Raises TrustError, StateError."""
    from numatune.engine import holds as held
    from numatune.engine import when

    return held.in_force(_stored(reader), when.stamp())


def hold(  # noqa: PLR0913  # which, how long, why, and how long to wait for the lock
    host: Host, patterns: Sequence[str], seconds: int, *, every: bool = False, why: str = "", wait: float = 60.0
) -> tuple[Hold, ...]:
    """Hold the settings that the patterns name, or every one, also those to come; an older hold on them is replaced.

    The new holds. Raises NumatuneError for a pattern that names no setting of the applied set, LockedError.
    """
    from numatune.engine import holds as held
    from numatune.engine import lock, paths, store, when
    from numatune.engine.runs import who
    from numatune.settings.applied import Hold, Holds

    with lock.held(paths.lock(host.root), "hold", wait):
        ids = (held.EVERY,) if every else held.match(patterns, _known(host))
        now, until = when.stamp(), when.stamp(seconds)
        new = tuple(Hold(id_, who(), now, until, why) for id_ in ids)
        store.save(paths.holds(paths.state(host.root)), Holds(held.hold(_stored(host), new, now)))
    return new


def unhold(host: Host, patterns: Sequence[str], *, every: bool = False, wait: float = 60.0) -> tuple[Hold, ...]:
    """End the holds on the settings that the patterns name, or all. The holds that were ended.

    Raises NumatuneError for a pattern that names no hold, LockedError.
    """
    from numatune.engine import holds as held
    from numatune.engine import lock, paths, store, when
    from numatune.settings.applied import Holds

    with lock.held(paths.lock(host.root), "unhold", wait):
        now = when.stamp()
        there = held.in_force(_stored(host), now)
        ids = tuple(hold.id for hold in there)
        if not every:
            ids = held.match(patterns, ids, what="hold")
        left = held.unhold(there, ids, now)
        path = paths.holds(paths.state(host.root))
        store.save(path, Holds(left)) if left else store.remove(path)
    return tuple(hold for hold in there if hold.id in ids)


def _stored(reader: Reader) -> tuple[Hold, ...]:
    from numatune.engine import paths, store, trust
    from numatune.settings.applied import Holds

    if not reader.live:
        return ()
    state = paths.state(reader.root)
    trust.check(state)  # also where there is no file yet: one will be written
    found = store.load(paths.holds(state), Holds)
    return found.holds if found else ()


def _known(reader: Reader) -> tuple[str, ...]:
    """The settings of the applied set. Raises NumatuneError when nothing is applied."""
    from numatune.engine import applied, paths
    from numatune.errors import NumatuneError

    found = applied.load(paths.applied(paths.state(reader.root)))
    if found is None:
        raise NumatuneError("hold", "nothing is applied on this host", hint="numatune apply PROFILE comes first")
    return tuple(setting.id for setting in found.settings)
