"""Apply once more what is applied: where nothing has changed that the last time went by, it would do and say the same.

A fleet does little else. What an apply does is a function of the request, of the profiles' files, of the state folder
and of what the host answers; when all of these are as they were when one found nothing to do, the next one has only its
report to give. Who else would set a value is not asked again: `plan` tells that, and `drift` what came of it.
"""

from __future__ import annotations

import os
import sys

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numatune.api.applying import Applied
    from numatune.api.planning import Request
    from numatune.host.protocol import Host
    from numatune.settings.plan import Change, Outcome

    Report = dict[str, Any]


def repeated(host: Host, request: Request) -> Report | None:
    """The report of the last such apply, if it would be the same now. None: `apply` has to look."""
    if not host.live:
        return None
    from numatune.api import persisting
    from numatune.engine import lock, paths, witness
    from numatune.errors import NumatuneError

    state = paths.state(host.root)
    told: Report = {}

    def fits(found: Report) -> bool:
        told.update(found)
        if found["words"] != _words(host, request) or not all(_is_as(*file) for file in found["files"]):
            return False
        kept = tuple(found["program"])
        return persisting.program(request, kept, host) == kept

    try:
        with lock.held(paths.lock(host.root), "apply", 0):
            there = witness.holds(paths.repeated(state), _beside(state), host, fits)
    except NumatuneError:  # apply says it better
        return None
    return told["report"] if there else None


class Look:
    """A plan of a request, and all that it goes by. Raises as `prepare`."""

    def __init__(self, host: Host, request: Request) -> None:
        from numatune.api.planning import check_sections, load, prepare
        from numatune.engine import witness

        check_sections(request)
        self._host, self._request = host, request
        self._document = load(request.profiles, variables=request.variables)
        self._recorder = witness.Recorder(host)
        self.plan = prepare(self._recorder, request, self._document, others=host)

    def keep(self, done: Applied, report: Report) -> None:
        """With the lock held: write down the report of an apply that found nothing to do, with all that it went by.

        Nothing is kept of one that could say something else next time without a change of any of that.
        """
        if not self._host.live or done.plan.to_do or not all(map(_lasts, done.plan.rows)):
            return
        if not all(map(_is_left, done.outcomes.values())):
            return
        from numatune.engine import paths, witness

        state = paths.state(self._host.root)
        told = {
            "words": _words(self._host, self._request),
            "files": list(self._document.looked.items()),
            "program": self.plan.program,
            "report": report,
        }
        witness.save(paths.repeated(state), _beside(state), self._recorder.answers, told)


def _lasts(change: Change) -> bool:
    """Whether a row says the same as long as the host's answers do: nothing is held back by what passes, or by time."""
    from numatune.settings.plan import Action, Status

    lasting = {Status.OK, Status.UNSUPPORTED, Status.NOT_APPLICABLE, Status.UNCHANGEABLE}
    return change.status in lasting and change.action is Action.NONE and not (change.held or change.seen.conflicts)


def _is_left(outcome: Outcome) -> bool:
    return not (outcome.changed or outcome.errno or outcome.conflicts)


def _words(host: Host, request: Request) -> list[Any]:
    """What was asked, by which program, and what its names and paths hang on."""
    import dataclasses

    import numatune
    from numatune.engine import witness

    plain = dataclasses.replace(request, allow_unsafe=frozenset(), variables={})
    asked = [repr(plain), sorted(request.allow_unsafe), sorted(map(list, request.variables.items())), host.root]
    program = [sys.argv[0], sys.executable, witness.identity(numatune.__file__), os.geteuid()]
    return [*asked, *program, _folder(), *map(os.environ.get, ("NUMATUNE_PROFILES_DIR", "NUMATUNE_STATE_DIR"))]


def _folder() -> str:
    """Where relative paths start; "" when that is gone."""
    try:
        return os.getcwd()  # noqa: PTH109  # pathlib costs a start-up
    except OSError:
        return ""


def _is_as(path: str, text: str | None) -> bool:
    """Whether a file of a profile says what it said, and is still nobody else's; or is still not there."""
    if text is None:
        return not os.path.isfile(path)  # noqa: PTH113  # as above
    if os.geteuid() == 0:
        from numatune.engine import trust

        trust.check(os.path.abspath(path))  # noqa: PTH100  # as above
    with open(path, encoding="utf-8-sig", newline="") as file:  # noqa: PTH123  # as above
        return file.read() == text


def _beside(state: str) -> tuple[str, ...]:
    """The state that an apply goes by, besides the host's answers."""
    from numatune.engine import paths

    runs = paths.runs(state)
    journals = sorted(os.listdir(runs)) if os.path.isdir(runs) else []  # noqa: PTH112, PTH208  # as above
    ours = (paths.applied(state), paths.holds(state), paths.boot(state), paths.confirm(state))
    return (*ours, runs, *(f"{runs}/{name}" for name in journals))
