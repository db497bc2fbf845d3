"""What the old set owned and the new one no longer wants: its original comes back, if it is still ours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from numatune.engine import journal
from numatune.engine.diff import Options, allowed
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore, returning
from numatune.engine.runs import Run
from numatune.host.protocol import Reader
from numatune.settings.journal import Ack, Intent, Owned, Record
from numatune.settings.model import Refuse, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import PLACES, Nothing

REASON = "no longer wanted: its original comes back"


def unwanted(old: Iterable[Setting], new: Iterable[Setting]) -> tuple[Setting, ...]:
    """What of the old set, companions included, has no place in the new one. Whether it is ours, the ledger tells."""
    there = [setting for setting in flat(new) if not isinstance(setting.target, Nothing)]
    ids, places = {setting.id for setting in there}, {setting.target for setting in there}
    return tuple(s for s in flat(old) if s.id not in ids and s.target not in places)


def released(  # noqa: PLR0913, PLR0917  # both sets, what is ours, the host, what is allowed, which boot
    old: Iterable[Setting],
    new: Iterable[Setting],
    ledger: Mapping[SettingId, Owned],
    reader: Reader,
    options: Options,
    boot_id: str,
) -> tuple[Change, ...]:
    """Rows with the action `release`, and what their writes move besides as watched rows.

    A setting that somebody else has changed since, or that a reboot has reset, is nobody's to give back: no row. One
    that would disrupt running work, or is beyond its guard rail, is a row without action like any other such change.
    """
    dropped = {setting.id: ledger[setting.id] for setting in unwanted(old, new) if setting.id in ledger}
    if not dropped:
        return ()
    settings = {sid: _back(owned) for sid, owned in dropped.items()}
    seen = observe(settings.values(), reader, name_conflicts=False)
    changes, _ = restore(dropped, seen, boot_id)
    rows = tuple(_row(change, dropped[change.setting.id], options) for change in changes)
    gone = {row.setting.id for row in rows if row.action is Action.RELEASE and row.setting.want is None}
    inside = tuple(_with_its_cgroup(s, seen[s.id]) for s in settings.values() if s.needs in gone and s.id not in gone)
    moved = {s.target for row in rows if row.action is Action.RELEASE for s in row.setting.companions}
    rows = tuple(row for row in rows if row.status is not Status.OK or row.setting.target in moved)
    return (*rows, *inside, *_watched(rows, new, reader))


def _row(change: Change, owned: Owned, options: Options) -> Change:
    """As restore says, by its name. What is at its original already stays there when a partner's write moves it."""
    change = replace(change, setting=_back(owned))
    if change.action is Action.NONE:
        return change
    return allowed(replace(change, action=Action.RELEASE, reason=REASON), options)


def _with_its_cgroup(setting: Setting, seen: Observation) -> Change:
    """What lies in a cgroup goes away with it, and is written down so that a rollback can bring it back."""
    reason = f"no longer wanted: goes away with {setting.needs}"
    return Change(replace(setting, want=None), seen, Status.DRIFTED, Action.RELEASE, reason=reason)


def _back(owned: Owned) -> Setting:
    """The setting with its original as what is wanted, and nothing more that a profile said of it.

    A limit that the profile's own value was beyond is no limit for the original; what is free or in use still is.
    """
    guard = None if isinstance(owned.setting.guard, Refuse) else owned.setting.guard
    return replace(returning(owned.setting, owned.original), guard=guard, optional=None, source=None, why="")


def _watched(rows: Iterable[Change], new: Iterable[Setting], reader: Reader) -> tuple[Change, ...]:
    """What the kernel rewrites beside a released value, unless it is a row already."""
    known = {row.setting.target for row in rows} | {setting.target for setting in flat(new)}
    beside = [s for s in flat(row.setting for row in rows if row.action is Action.RELEASE) if s.target not in known]
    seen = observe(beside, reader, name_conflicts=False)
    return tuple(Change(replace(s, want=None), seen[s.id], Status.OK, reason="watched") for s in beside)


def cgroups_made(steps: Iterable[Change | Intent]) -> frozenset[SettingId]:
    """Those that a run makes, or wanted to make."""
    creating = (step.setting for step in steps if step.action is Action.CREATE)
    return frozenset(setting.id for setting in creating if isinstance(setting.target, PLACES))


def remade(made: Collection[SettingId], records: Iterable[Record], reader: Reader) -> tuple[Ack, ...]:
    """What an older run must be told after a rollback: cgroups that it made, and that were made again, are other ones.

    made  by the rollback; records: of a run that is still to be taken back
    """
    intents = [r for r in records if isinstance(r, Intent) and r.setting.id in made and r.action is Action.CREATE]
    seen = observe((intent.setting for intent in intents), reader, name_conflicts=False)
    now = ((intent.seq, seen[intent.setting.id]) for intent in intents)
    return tuple(Ack(seq, 0, held.text, final=True, identity=held.identity) for seq, held in now if held.text)


def tell_remade(changes: Sequence[Change], involved: Iterable[Run], stack: Iterable[Run], reader: Reader) -> None:
    """Note it in the journals of the runs that are still to be taken back. Raises TrustError, StateError.

    involved  what the rollback is about, with the rollbacks that were cut off before it: they made some already
    """
    before = [r for run in involved if run.start.kind == "rollback" for r in journal.read(run.path)]
    made = cgroups_made((*changes, *(record for record in before if isinstance(record, Intent))))
    for run in stack if made else ():
        for ack in remade(made, journal.read(run.path), reader) if run.end else ():
            journal.note(run.path, ack)
