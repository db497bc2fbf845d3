"""Putting back what somebody moved since the last apply: the self-healing cron job. Loads as little as drift."""

from __future__ import annotations

from collections.abc import Mapping

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.engine.runs import Run
    from numatune.host.protocol import Host
    from numatune.settings.drift import Drift, DriftRow
    from numatune.settings.model import SettingId
    from numatune.settings.plan import Outcome


def repair(host: Host, *, wait: float = 60.0) -> Drift:
    """Put back what numatune had set, somebody moved, and nobody's work feels; three times a day at most.

    The drift of before, with what was put back marked. Raises as `drift`, and LockedError.
    """
    from numatune.api import drifting
    from numatune.engine import lock, paths

    with lock.held(paths.lock(host.root), "drift --repair", wait):
        found = _repaired(host)
        if not found.counted and not drifting.clean(host):
            drifting.remember_clean(host)
    return found


def _repaired(host: Host) -> Drift:
    from dataclasses import replace

    from numatune.api.drifting import from_stored
    from numatune.engine import paths, repair, revived, runs, when
    from numatune.engine.boot import boot_id
    from numatune.engine.fold import fold

    found = from_stored(host)
    if not found.counted:
        return found
    state, boot = paths.state(host.root), boot_id(host)
    chosen = runs.choose(runs.listed(paths.runs(state)), every=True)
    records, files = runs.records(chosen.runs), {run.number: run for run in chosen.runs}
    ledger = revived.overlay(fold(records), revived.load(paths.boot(state), boot), boot)
    often = repair.repairs(records, when.stamp(-when.DAY))
    todo: dict[SettingId, tuple[DriftRow, Run]] = {}
    notes: dict[SettingId, str] = {}
    for row in found.rows:
        sid = row.change.setting.id
        if not repair.repairable(row, ledger, boot):
            notes[sid] = repair.left_alone(row, ledger, boot)
            continue
        run = files[ledger[sid].run]
        if run.end is None:
            notes[sid] = repair.CUT_OFF
        elif often[sid] >= repair.LIMIT:
            notes[sid] = repair.given_up(row)
        else:
            todo[sid] = (row, run)
    outcomes = _put_back(todo, host)
    return replace(found, rows=tuple(_marked(row, notes, outcomes) for row in found.rows))


def _put_back(todo: Mapping[SettingId, tuple[DriftRow, Run]], host: Host) -> dict[SettingId, Outcome]:
    """Note each repair in the run that it restores, then write."""
    from numatune.api import log
    from numatune.engine import journal, paths, runs, when
    from numatune.engine.boot import boot_id
    from numatune.engine.diff import Options, diff
    from numatune.engine.execute import execute
    from numatune.engine.observe import flat, observe
    from numatune.settings.journal import Repaired
    from numatune.views.drift_text import repaired

    if not todo:
        return {}
    settings = flat(row.change.setting for row, _ in todo.values())
    changes = diff(settings, observe(settings, host, name_conflicts=False), Options(retry=True))
    for sid, (row, run) in todo.items():
        journal.note(run.path, Repaired(sid, when.stamp(), row.change.seen.text))
    start = runs.head(paths.runs(paths.state(host.root)), "repair", boot_id(host))
    outcomes = {outcome.id: outcome for outcome in execute(changes, host, Unwritten(), start)}
    for row, _ in todo.values():
        log.line(f"repair by {start.who}: {repaired(_marked(row, {}, outcomes))}")
    return outcomes


def _marked(row: DriftRow, notes: Mapping[SettingId, str], outcomes: Mapping[SettingId, Outcome]) -> DriftRow:
    """The row with what became of it."""
    from dataclasses import replace

    from numatune.settings.plan import AS_WANTED

    sid = row.change.setting.id
    if sid in notes:
        return replace(row, note=notes[sid])
    if sid not in outcomes:
        return row
    outcome = outcomes[sid]
    if outcome.status in AS_WANTED:
        return replace(row, repaired=True, counted=False)
    return replace(row, note=f"could not be put back: {outcome.reason or outcome.status}")


class Unwritten:
    """A repair is no run: it is noted in the run that it restores, and that run's originals stay what they are."""

    def append(self, record: object, *, sync: bool = False) -> None:
        """Nothing."""
