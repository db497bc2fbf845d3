"""What has moved since the last apply, and putting it back. Loads no profile unless the host's topology has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.memory import Memory
    from numatune.api.planning import Request
    from numatune.engine.runs import Run
    from numatune.host.protocol import Host, Reader
    from numatune.settings.applied import AppliedSet
    from numatune.settings.drift import Drift, DriftRow
    from numatune.settings.model import Setting, SettingId
    from numatune.settings.plan import Change, Observation, Outcome


def clean(reader: Reader) -> bool:
    """Whether it is certain, at the smallest price, that nothing has moved. False: `drift` has to look.

    Raises TrustError when others could have written what it goes by.
    """
    if not reader.live:
        return False
    from numatune.engine import paths, witness

    state = paths.state(reader.root)
    return witness.holds(paths.witness(state), paths.applied(state), reader)


def drift(reader: Reader, request: Request | None = None) -> Drift:
    """The host against its applied set, or against the profiles of a request. Changes nothing, needs no root.

    Raises NumatuneError when nothing is applied and no profile is named, ProfileError, TrustError, StateError.
    """
    return _from_profiles(reader, request) if request else _from_stored(reader)


def repair(host: Host, *, wait: float = 60.0) -> Drift:
    """Put back what numatune had set, somebody moved, and nobody's work feels; three times a day at most.

    The drift of before, with what was put back marked. Raises as `drift`, and LockedError.
    """
    from numatune.engine import lock, paths

    with lock.held(paths.lock(host.root), "drift --repair", wait):
        return _repaired(host)


def remember_clean(host: Host) -> None:
    """After an apply: if the host is clean, write down what it answered, so that `clean` is quick."""
    from numatune.api.memory import recall
    from numatune.engine import paths, witness

    state = paths.state(host.root)
    recorder = witness.Recorder(host)
    memory = recall(recorder)
    stored = memory.applied
    if stored is None or _why_anew(stored, recorder):
        return
    if not any(map(_visible, _rows(stored.settings, stored, memory, recorder))):
        witness.save(paths.witness(state), paths.applied(state), recorder.answers)


def _from_profiles(reader: Reader, request: Request) -> Drift:
    from numatune.api.memory import recall
    from numatune.api.planning import prepare
    from numatune.engine.drift import compare
    from numatune.settings.drift import Drift

    plan, memory = prepare(reader, request).plan, recall(reader)
    stored = memory.applied
    known = {row.setting.id: row for row in stored.rows} if stored else {}
    rebooted = stored is not None and stored.boot_id != memory.boot_id
    rows = compare(plan.changes, known, rebooted=rebooted)
    return Drift(
        rows,
        plan.profiles,
        stored=False,
        since=stored.when if stored else "",
        run=stored.run if stored else 0,
        rebooted=rebooted,
    )


def _from_stored(reader: Reader) -> Drift:
    from numatune.api.memory import recall
    from numatune.errors import NumatuneError
    from numatune.settings.drift import Drift

    memory = recall(reader)
    stored = memory.applied
    if stored is None:
        where = "this captured tree" if not reader.live else "this host"
        hint = "numatune drift PROFILE compares with a profile"
        raise NumatuneError("drift", f"nothing is applied on {where}", hint=hint)
    anew = _why_anew(stored, reader)
    rebooted = stored.boot_id != memory.boot_id
    rows = _rows_anew(reader) if anew else _rows(stored.settings, stored, memory, reader)
    return Drift(rows, stored.profiles, stored=True, since=stored.when, run=stored.run, anew=anew, rebooted=rebooted)


def _why_anew(stored: AppliedSet, reader: Reader) -> str:
    """Why the stored values may no longer be what the stored profiles mean here."""
    from numatune.discover import fingerprint
    from numatune.engine import applied

    if stored.fingerprint != fingerprint(reader):
        return "the host has other nodes, CPUs, devices, interrupts or another kernel than at the last apply"
    now = dict(applied.interrupts(stored.settings, reader))
    moved = [device for device, held in stored.interrupts if now.get(device) != held]
    return f"the interrupts of {', '.join(moved)} have other numbers than at the last apply" if moved else ""


def _rows(settings: Sequence[Setting], stored: AppliedSet, memory: Memory, reader: Reader) -> tuple[DriftRow, ...]:
    """Who else sets a value is asked only when there is something to tell: that reads many files."""
    from numatune.engine import conflicts
    from numatune.engine.observe import observe

    seen = observe(settings, reader, name_conflicts=False)
    rows = _judged(settings, seen, stored, memory)
    if not any(map(_visible, rows)):
        return rows
    return _judged(settings, conflicts.named(settings, seen, reader), stored, memory)


def _judged(
    settings: Sequence[Setting], seen: Mapping[SettingId, Observation], stored: AppliedSet, memory: Memory
) -> tuple[DriftRow, ...]:
    from numatune.engine.diff import Options, diff

    options = Options(allow_disruption=any(part.allow_disruption for part in stored.parts))
    return _compared(diff(settings, seen, options, memory.remembered), stored, memory)


def _visible(row: DriftRow) -> bool:
    """Whether somebody is told of it."""
    return row.counted or bool(row.change.held)


def _rows_anew(reader: Reader) -> tuple[DriftRow, ...]:
    """With values that the stored profiles have on the host as it is now; what they no longer want is released."""
    from numatune import profile
    from numatune.api.memory import recall
    from numatune.api.planning import difference, options_for
    from numatune.discover import discover
    from numatune.engine import applied
    from numatune.topology.resolve import with_overrides

    memory = recall(reader, ledger=True)
    stored = memory.applied
    assert stored is not None  # noqa: S101  # for the type checker: the caller has looked
    resolved = []
    for part in stored.parts:
        document = profile.restore(part.stored)
        topology = with_overrides(discover(reader, document.reads), document.overrides)
        resolved.append((part, profile.resolve(document, topology).settings))
    allowed = any(part.allow_disruption for part in stored.parts)
    options = options_for(frozenset(), allow_disruption=allowed, retry=False)
    changes = difference(applied.compose(resolved), reader, options, memory)
    return _compared(changes, stored, memory)


def _compared(changes: Sequence[Change], stored: AppliedSet, memory: Memory) -> tuple[DriftRow, ...]:
    from numatune.engine import holds, when
    from numatune.engine.drift import compare

    kept = holds.respect(changes, memory.holds, when.stamp())
    known = {row.setting.id: row for row in stored.rows}
    return compare(kept, known, rebooted=stored.boot_id != memory.boot_id)


def _repaired(host: Host) -> Drift:
    from dataclasses import replace

    from numatune.engine import paths, repair, runs, when
    from numatune.engine.boot import boot_id
    from numatune.engine.fold import fold

    found = _from_stored(host)
    if not found.counted:
        return found
    chosen = runs.choose(runs.listed(paths.runs(paths.state(host.root))), every=True)
    records = runs.records(chosen.runs)
    ledger, boot, files = fold(records), boot_id(host), {run.number: run for run in chosen.runs}
    often = repair.repairs(records, when.stamp(-when.DAY))
    todo: dict[SettingId, tuple[DriftRow, Run]] = {}
    notes: dict[SettingId, str] = {}
    for row in found.rows:
        sid = row.change.setting.id
        if not repair.repairable(row, ledger, boot):
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
    outcomes = {outcome.id: outcome for outcome in execute(changes, host, _Unwritten(), start)}
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


class _Unwritten:
    """A repair is no run: it is noted in the run that it restores, and that run's originals stay what they are."""

    def append(self, record: object, *, sync: bool = False) -> None:
        """Nothing."""
