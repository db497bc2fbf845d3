"""Keep a run that would be taken back otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Host
    from numatune.settings.applied import Waiting


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The run that is kept. `stopped` False: its time was over, but nothing had taken it back."""

    waiting: Waiting
    stopped: bool


def waiting_run(host: Host) -> Waiting | None:
    """What waits to be confirmed. A wait for a run that never began, or that is gone already, is none.

    Raises TrustError, StateError.
    """
    from numatune.api.memory import listed
    from numatune.engine import confirm as waits
    from numatune.engine import paths, runs
    from numatune.engine.boot import boot_id

    waiting = waits.waits(paths.confirm(paths.state(host.root)), boot_id(host))
    on_the_stack = waiting and any(run.number == waiting.run for run in runs.to_take_back(listed(host)))
    return waiting if on_the_stack else None


def confirm(host: Host, *, wait: float = 60.0) -> Confirmed:
    """End the wait of the run that waits to be confirmed. Raises NumatuneError when none does, LockedError.

    With the lock held nothing can be taken back meanwhile: either the rollback came first, or it never comes.
    """
    from numatune.engine import confirm as waits
    from numatune.engine import lock, paths
    from numatune.engine.boot import boot_id

    path = paths.confirm(paths.state(host.root))
    with lock.held(paths.lock(host.root), "confirm", wait):
        waiting = waiting_run(host)
        if waiting is None:
            raise _too_late(waits.last(path, boot_id(host)))
        return Confirmed(waiting, waits.disarm(path, host, waiting))


def _too_late(waiting: Waiting | None) -> Exception:
    from numatune.engine.when import for_people
    from numatune.errors import NumatuneError

    if waiting is None or not waiting.undone:
        return NumatuneError("confirm", "no run waits to be confirmed", hint="numatune history")
    why = ""
    if waiting.undone >= waiting.until:
        why = f", because nobody had confirmed it until {for_people(waiting.until)}"
    found = f"was rolled back at {for_people(waiting.undone)}{why}"
    return NumatuneError(f"run {waiting.run}", found, hint="apply it again")
