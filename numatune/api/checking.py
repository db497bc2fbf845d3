"""The scheduled drift check: one at a time, quiet when clean, told to whom it may concern. Loads as little as drift."""

from __future__ import annotations

from dataclasses import dataclass, replace

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numatune.api.outputs import Outputs
    from numatune.host.protocol import Host, Reader
    from numatune.settings.drift import Drift
    from numatune.views.drift_prometheus import Last


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    found     None: clean at the first glance, so there was nothing to look at; or the check failed
    error     why it failed
    troubles  what could not be told: a full disk, a command that failed
    """

    found: Drift | None = None
    error: Exception | None = None
    troubles: tuple[Exception, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A look at the host: what was found, for a page what it was named and, if it need not be made anew, the page."""

    found: Drift | None = None
    error: Exception | None = None
    look: str = ""
    held: str = ""


def check(  # noqa: PLR0913  # all but the first have defaults
    reader: Reader,
    outputs: Outputs,
    *,
    repair: Host | None = None,
    wait: float = 60.0,
    delay: int = 0,
    whole: bool = False,
) -> Checked | None:
    """Compare a host with its applied set and tell.

    None: there is nothing to tell. Another check is going on, which will; or, while this one slept, numatune or the
    set that it was to look at was taken away.

    repair  this host, when what somebody moved is to be put back; `wait`: seconds for another run to end then
    delay   sleep a random part of so many seconds first, so that a fleet does not check at once
    whole   look at every row also when the host is clean for certain

    Errors of the check and of its outputs are told in the result; only a lock that cannot be had raises.
    """
    from contextlib import ExitStack

    from numatune.engine import lock, paths
    from numatune.errors import LockedError

    with ExitStack() as alone:
        try:
            alone.enter_context(lock.held(paths.check(reader.root), "check", 0))
        except LockedError:
            return None
        if delay and not _slept(reader, delay):
            return None
        return _checked(reader, outputs, _Way(repair, wait, whole=whole))


@dataclass(frozen=True, slots=True)
class _Way:
    """How to look."""

    repair: Host | None
    wait: float
    whole: bool


def _checked(reader: Reader, outputs: Outputs, way: _Way) -> Checked:
    import time

    began = time.monotonic()
    last = _last_page(outputs)
    try:
        seen = _looked(reader, way, last)
    except Exception as error:  # noqa: BLE001  # whoever watches this host is told of every failure
        seen = _Seen(error=error)
    took = time.monotonic() - began
    troubles = tuple(_troubles(_steps(outputs, seen, last, took)))
    return Checked(seen.found, seen.error, troubles)


def _looked(reader: Reader, way: _Way, last: Last | None) -> _Seen:
    """A host that is clean at the first glance is looked at only for a page that the last one cannot give."""
    from numatune.api.drifting import clean, drift
    from numatune.engine import paths, witness

    look = "-".join(map(str, witness.identity(paths.witness(paths.state(reader.root))) or ()))
    if not clean(reader):
        if way.repair is None:
            return _Seen(found=drift(reader))
        from numatune.api.repairing import repair

        return _Seen(found=repair(way.repair, wait=way.wait))
    if not way.whole:
        if last is None:
            return _Seen()
        if last.held and last.look == look:
            return _Seen(look=look, held=last.held)
    return _Seen(found=drift(reader), look=look)


def _steps(outputs: Outputs, seen: _Seen, last: Last | None, took: float) -> Iterator[Callable[[], None]]:
    """What is to be told, and how."""
    from numatune.api import outputs as to

    if outputs.syslog and (lines := _lines(seen, repaired=False)):  # the repair has told of itself
        yield lambda: to.syslog(lines)
    if outputs.log and (logged := _lines(seen)):
        yield lambda: to.append(outputs.log, logged)
    if last is not None:
        yield lambda: to.put_page(outputs.textfile, _page(seen, last, took))
    if outputs.notify and (document := _document(seen)):
        yield lambda: to.notify(outputs.notify, document)


def _troubles(steps: Iterator[Callable[[], None]]) -> Iterator[Exception]:
    """Carries out every step."""
    from numatune.errors import NumatuneError

    for step in steps:
        try:
            step()
        except NumatuneError as error:
            yield error


def _lines(seen: _Seen, *, repaired: bool = True) -> list[str]:
    """One line a difference, or a problem."""
    if seen.error is not None:
        return [f"check failed: {line}" for line in str(seen.error).splitlines() or [type(seen.error).__name__]]
    if seen.found is None:
        return []
    from numatune.views import drift_log

    return drift_log.lines(seen.found, repaired=repaired)


def _document(seen: _Seen) -> dict[str, object] | None:
    """What a command is told: the drift, or the error, as the command line prints them; None: nothing."""
    if seen.error is not None:
        from numatune.errors import NumatuneError
        from numatune.views import error_json

        error = seen.error
        if isinstance(error, NumatuneError):
            return {"error": error_json.known(error)}
        return {"error": error_json.unexpected(error, f"unexpected {type(error).__name__}: {error}")}
    if seen.found is None or not seen.found.counted:
        return None
    from numatune.views import drift_json

    return drift_json.drift(seen.found)


def _last_page(outputs: Outputs) -> Last | None:
    """None: no page is asked for."""
    if not outputs.textfile:
        return None
    from numatune.api.outputs import read_page
    from numatune.views import drift_prometheus

    return drift_prometheus.last(read_page(outputs.textfile))


def _page(seen: _Seen, last: Last, took: float) -> str:
    import time

    from numatune import __version__
    from numatune.views import drift_prometheus as view

    now = time.time()
    told = view.Check(version=__version__, ran=now, seconds=took, repairs=last.repairs, succeeded=last.succeeded)
    if seen.error is not None:
        return view.page(replace(told, failed=True))
    told = replace(told, succeeded=now)
    if seen.found is None:
        return view.page(told, seen.held, seen.look)
    repairs = last.repairs + sum(row.repaired for row in seen.found.rows)
    return view.page(replace(told, repairs=repairs), view.settings(seen.found), seen.look)


def _slept(reader: Reader, delay: int) -> bool:
    """Sleep a random part of so many seconds. Whether there is a numatune still, and what is applied to be looked at.

    Nothing may be imported between a numatune that has gone and the end.
    """
    import os
    import time

    from numatune.engine import paths

    applied = paths.applied(paths.state(reader.root))
    was_applied = os.path.exists(applied)  # noqa: PTH110  # pathlib costs a start-up
    time.sleep(delay * int.from_bytes(os.urandom(4)) / (1 << 32))
    is_applied = os.path.exists(applied)  # noqa: PTH110  # as above
    return os.path.exists(__file__) and (is_applied or not was_applied)  # noqa: PTH110  # as above
