"""Plans that are saved, and carried out later on a host that has not moved since."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from numatune.engine import store, when
from numatune.engine.diff import Options, diff
from numatune.engine.holds import on, said
from numatune.engine.observe import observe
from numatune.errors import MovedError, Problem, StateError
from numatune.host.protocol import Reader
from numatune.settings.applied import Hold, SavedPlan
from numatune.settings.codecs import alike, shown
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, Observation, Remembered
from numatune.settings.targets import OwnedFile


def save(path: str, saved: SavedPlan) -> None:
    """Write the plan to a file; what is there and no file (/dev/stdout) is left alone. Raises StateError."""
    if os.path.lexists(path) and not os.path.isfile(path):  # noqa: PTH113  # pathlib costs a start-up
        raise StateError(path, "is no regular file", accepted="a file, which is replaced, or a new name")
    if not os.path.isdir(os.path.dirname(path)):  # noqa: PTH112, PTH120  # as above
        raise StateError(path, "cannot be written: there is no such folder")
    store.save(path, saved)


def load(path: str) -> SavedPlan:
    """Read a saved plan. Raises TrustError, and StateError when there is none or a newer numatune wrote it."""
    found = store.load(path, SavedPlan, broken=_HOW)
    if found is None:
        raise StateError(path, "is no file", hint=_HOW)
    return found


_HOW = "numatune plan PROFILE --out FILE writes one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What a saved plan stands or falls with, besides the values: as `Memory` in api/ has it.

    applied  the name of the applied set, see `applied.named`
    """

    boot_id: str
    fingerprint: str
    newest_run: int
    applied: str = ""
    remembered: Mapping[SettingId, Remembered] = field(default_factory=dict)
    holds: Sequence[Hold] = ()


def check(saved: SavedPlan, reader: Reader, now: Now) -> None:
    """Look at every row again. Raises MovedError, naming all that is no longer as it was when the plan was saved."""
    problems = [*_host(saved, now), *_held(saved, now.holds), *_rows(saved, reader, now.remembered)]
    if problems:
        error = MovedError("", problems[0].found)
        hint = Problem("", "nothing was changed", hint="make the plan again: numatune plan PROFILE --out FILE")
        error.problems = (*problems, hint)
        raise error


def _host(saved: SavedPlan, now: Now) -> Iterator[Problem]:
    then = saved.plan.host
    if then.boot_id != now.boot_id:
        yield Problem("host", "was restarted since the plan was saved, or is another one")
    if then.fingerprint != now.fingerprint:
        yield Problem(
            "host", "has other nodes, CPUs, devices, interrupts or another kernel than when the plan was saved"
        )
    if saved.since != now.newest_run:
        yield Problem("host", f"run {now.newest_run} came after the plan was saved")
    elif saved.applied != now.applied:
        yield Problem("host", "has other profiles applied than when the plan was saved")


def _held(saved: SavedPlan, holds: Sequence[Hold]) -> Iterator[Problem]:
    """Holds that came after the plan was saved; what was held then is left alone all the same."""
    moment = when.stamp()
    for change in saved.plan.to_do:
        if found := on(change.setting.id, holds, moment):
            yield Problem(change.setting.id, f"is {said(found)}")


def _rows(saved: SavedPlan, reader: Reader, remembered: Mapping[SettingId, Remembered]) -> Iterator[Problem]:
    changes = saved.plan.changes
    seen = observe((change.setting for change in changes), reader, name_conflicts=False)
    moved = [problem for change in changes if (problem := _moved(change, seen[change.setting.id]))]
    yield from moved
    if not moved:
        yield from _other_plan(saved, seen, remembered)


def _moved(change: Change, now: Observation) -> Problem | None:
    """Another value, or the same value of another thing: an interrupt with another number, a cgroup made again."""
    then, setting = change.seen, change.setting
    if not alike(setting.codec, then.text, now.text):
        before, after = (shown(setting.codec, text) for text in (then.text, now.text))
        return Problem(setting.id, f"held {_value(before)} when the plan was saved, holds {_value(after)} now")
    another = then.identity != now.identity and not isinstance(setting.target, OwnedFile)  # a folder may come meanwhile
    if another:
        return Problem(setting.id, f"was {then.identity or 'not there'}, is {now.identity or 'gone'} now")
    return None


def _other_plan(
    saved: SavedPlan, seen: Mapping[SettingId, Observation], remembered: Mapping[SettingId, Remembered]
) -> Iterator[Problem]:
    """Rows that would now be handled in another way: work has moved onto a cgroup, memory for a pool has gone."""
    options = Options(saved.allow_disruption, frozenset(saved.allow_unsafe), saved.retry)
    planned = {change.setting.id: change for change in saved.plan.changes if change.action is not Action.RELEASE}
    for now in diff([change.setting for change in planned.values()], seen, options, remembered):
        then = planned[now.setting.id]
        if not then.held and _handling(then) != _handling(now):
            reason = f" ({now.reason})" if now.reason else ""
            yield Problem(now.setting.id, f"would be handled in another way now: {now.action}, {now.impact}{reason}")


def _handling(change: Change) -> tuple[Action, tuple[str, ...], str]:
    return change.action, change.writes, change.impact if change.action is not Action.NONE else ""


def _value(value: str | None) -> str:
    return "nothing" if value is None else repr(value)
