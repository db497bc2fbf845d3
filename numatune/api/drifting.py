"""What has moved since the last apply. Loads no profile unless the host's topology has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.memory import Memory
    from numatune.api.planning import Request
    from numatune.engine.diff import Options
    from numatune.host.protocol import Host, Reader
    from numatune.settings.applied import AppliedSet
    from numatune.settings.drift import Drift, DriftRow
    from numatune.settings.model import Setting, SettingId
    from numatune.settings.plan import Change, Observation


def clean(reader: Reader) -> bool:
    """Whether it is certain, at the smallest price, that nothing has moved. False: `drift` has to look.

    Raises TrustError when others could have written what it goes by.
    """
    if not reader.live:
        return False
    from numatune.engine import paths, witness

    state = paths.state(reader.root)
    return witness.holds(paths.witness(state), _beside(state), reader)


def drift(reader: Reader, request: Request | None = None) -> Drift:
    """The host against its applied set, or against the profiles of a request. Changes nothing, needs no root.

    Raises NumatuneError when nothing is applied and no profile is named, ProfileError, TrustError, StateError.
    """
    return _from_profiles(reader, request) if request else from_stored(reader)


def remember_clean(host: Host) -> None:
    """With the lock held: if the host is clean, write down what it answered, so that `clean` is quick."""
    from numatune.api import anew
    from numatune.api.memory import recall
    from numatune.engine import paths, witness

    state = paths.state(host.root)
    recorder = witness.Recorder(host)
    memory = recall(recorder)
    stored = memory.applied
    if stored is None or stored.owed or anew.why(stored, recorder):
        return
    if all(map(_is_settled, _rows(stored, memory, recorder))):
        witness.save(paths.witness(state), _beside(state), recorder.answers)


def from_stored(reader: Reader) -> Drift:
    """The host against its applied set. Raises as `drift`."""
    from numatune.api import anew
    from numatune.api.memory import recall
    from numatune.errors import NumatuneError
    from numatune.settings.drift import Drift

    memory = recall(reader)
    stored = memory.applied
    if stored is None:
        where = "this captured tree" if not reader.live else "this host"
        hint = "numatune drift PROFILE compares with a profile"
        raise NumatuneError("drift", f"nothing is applied on {where}", hint=hint)
    changed = anew.why(stored, reader)
    if changed or stored.owed:
        settings = anew.settings(stored, reader) if changed else stored.settings
        rows = _rows_and_releases(settings, stored, reader)
    else:
        rows = _rows(stored, memory, reader)
    return Drift(
        rows,
        stored.profiles,
        stored=True,
        since=stored.when,
        run=stored.run,
        anew=changed,
        rebooted=memory.rebooted() and not memory.revived,
    )


def _beside(state: str) -> tuple[str, ...]:
    """The state that a look goes by, besides the host's answers."""
    from numatune.engine import paths

    return paths.applied(state), paths.holds(state), paths.boot(state)


def _from_profiles(reader: Reader, request: Request) -> Drift:
    from numatune.api.memory import recall
    from numatune.api.planning import prepare
    from numatune.engine.drift import compare
    from numatune.settings.drift import Drift

    plan, memory = prepare(reader, request).plan, recall(reader)
    stored = memory.applied
    if stored is None:
        return Drift(compare(plan.changes, {}), plan.profiles, stored=False)
    return Drift(
        _compared(plan.changes, stored, memory),
        plan.profiles,
        stored=False,
        since=stored.when,
        run=stored.run,
        rebooted=memory.rebooted() and not memory.revived,
    )


def _rows(stored: AppliedSet, memory: Memory, reader: Reader) -> tuple[DriftRow, ...]:
    """Who else sets a value is asked only when there is something to tell: that reads many files."""
    from numatune.engine import conflicts
    from numatune.engine.observe import observe

    seen = observe(stored.settings, reader, name_conflicts=False)
    rows = _judged(seen, stored, memory)
    if not any(map(_is_told, rows)):
        return rows
    return _judged(conflicts.named(stored.settings, seen, reader), stored, memory)


def _judged(seen: Mapping[SettingId, Observation], stored: AppliedSet, memory: Memory) -> tuple[DriftRow, ...]:
    from numatune.engine import holds, when
    from numatune.engine.diff import diff

    changes = diff(stored.settings, seen, _options(stored), memory.remembered)
    return _compared(holds.respect(changes, memory.holds, when.stamp()), stored, memory)


def _rows_and_releases(settings: Sequence[Setting], stored: AppliedSet, reader: Reader) -> tuple[DriftRow, ...]:
    """With what these settings, and the last apply, no longer want."""
    from numatune.api.memory import recall
    from numatune.api.planning import difference

    memory = recall(reader, ledger=True)
    return _compared(difference(settings, reader, _options(stored), memory), stored, memory)


def _compared(changes: Sequence[Change], stored: AppliedSet, memory: Memory) -> tuple[DriftRow, ...]:
    from numatune.engine.drift import compare
    from numatune.engine.revived import in_force

    known = {row.setting.id: row for row in stored.rows}
    owed = {setting.id for setting in stored.owed} - known.keys()
    return compare(changes, known, owed, rebooted=memory.rebooted(), revived=in_force(memory.revived))


def _options(stored: AppliedSet) -> Options:
    """What the profiles themselves allow: options of the command line are not remembered."""
    from numatune.engine.diff import Options

    return Options(allow_disruption=any(part.allow_disruption for part in stored.parts))


def _is_told(row: DriftRow) -> bool:
    """Whether somebody is told of it."""
    return row.counted or bool(row.change.held)


def _is_settled(row: DriftRow) -> bool:
    """Whether it will not be told as long as the host's lasting answers are the same.

    A row that is held back may be let in by what passes: who runs in a cgroup, how much memory is free.
    """
    from numatune.settings.plan import Action, Status, counts

    change = row.change
    held_back = change.status is Status.DRIFTED and change.action is Action.NONE
    return not _is_told(row) and not (held_back and counts(change.setting, change.status))
