"""Journals -> what numatune holds on this host and what to give back. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from numatune.settings.codecs import agree, alike, meets
from numatune.settings.journal import Ack, Intent, Owned, Ready, Record, RunEnd, RunStart
from numatune.settings.model import SettingId
from numatune.settings.plan import Action
from numatune.settings.targets import PLACES, KernelFile, MountOption, Target


def fold(records: Iterable[Record]) -> dict[SettingId, Owned]:
    """The ledger after these runs, in order. Of runs on one setting the first original counts, and the last value held.

    One entry at most is in doubt in a run that was cut off: the first in the order of writing without an Ack.
    """
    ledger: dict[SettingId, Owned] = {}
    for run in _runs(records):
        for entry in run.entries.values():
            sid = entry.intent.setting.id
            after = _taken_back if run.start.kind == "rollback" else _taken
            owned = after(entry, ledger.get(sid), run.start)
            if owned is None:
                ledger.pop(sid, None)
            else:
                ledger[sid] = owned
    return ledger


def left(owned: Owned) -> tuple[str, ...]:
    """What numatune left there: the run at its end, and what made it so again since."""
    return (*(() if owned.held is None else (owned.held,)), *owned.also)


def ours(owned: Owned, now: str) -> bool:
    """Whether `now` is what numatune left there."""
    codec = owned.setting.codec
    if owned.coupled or any(agree(codec, text, now) for text in left(owned)):
        return True
    if not owned.in_doubt:
        return False
    want = owned.setting.want
    return want is None or meets(codec, want, now) or _on_the_way(owned, want, now)


def _on_the_way(owned: Owned, want: str, now: str) -> bool:
    """Whether a write that was cut off, or one of several, could have left this."""
    codec = owned.setting.codec
    if any(agree(codec, text, now) for text in owned.writes):
        return True
    try:
        return codec.between(owned.original or "0", want, now)
    except ValueError:
        return False


@dataclass(slots=True)
class _Entry:
    """What a run says of one setting: its last Intent and its last Ack.

    coupled  a partner was written since that Ack; `touched`: at any time
    """

    intent: Intent
    ack: Ack | None = None
    coupled: bool = False
    touched: bool = False
    in_doubt: bool = False


@dataclass(slots=True)
class _Run:
    start: RunStart
    entries: dict[SettingId, _Entry] = field(default_factory=dict)
    by_seq: dict[int, SettingId] = field(default_factory=dict)
    ready: bool = False
    ended: bool = False


def _runs(records: Iterable[Record]) -> list[_Run]:
    """The runs that touched the host: those without Ready did not."""
    out: list[_Run] = []
    for record in records:
        match record:
            case RunStart():
                out.append(_Run(record))
            case Ready():
                out[-1].ready = True
            case RunEnd():
                out[-1].ended = True
            case Intent():
                _intended(out[-1], record)
            case Ack():
                _acknowledged(out[-1], record)
            case _:
                pass
    begun = [run for run in out if run.ready]
    for run in begun:
        _doubt(run)
    return begun


def _intended(run: _Run, intent: Intent) -> None:
    sid = intent.setting.id
    before = run.entries.get(sid)
    run.by_seq[intent.seq] = sid
    run.entries[sid] = replace(before, intent=intent) if before else _Entry(intent)


def _acknowledged(run: _Run, ack: Ack) -> None:
    entry = run.entries[run.by_seq[ack.seq]]
    entry.ack, entry.coupled = ack, False
    if not ack.final and (not ack.errno or len(entry.intent.writes) > 1):
        _couple(run, entry)


def _couple(run: _Run, entry: _Entry) -> None:
    """A write may have moved its companions, and a cgroup that is made brings its files, until they are read back."""
    setting = entry.intent.setting
    targets: set[Target] = {companion.target for companion in setting.companions}
    made = setting.id if isinstance(setting.target, PLACES) and entry.intent.action is Action.CREATE else None
    for other in run.entries.values() if targets or made else ():
        beside = other.intent.setting
        if beside.target in targets or (
            made and beside.needs == made and isinstance(beside.target, KernelFile | MountOption)
        ):
            other.coupled = other.touched = True


def _doubt(run: _Run) -> None:
    """Mark the one that was being written when the run was cut off."""
    if run.ended:
        return
    waiting = [entry for entry in run.entries.values() if entry.ack is None and entry.intent.action is not Action.NONE]
    if waiting:
        first = min(waiting, key=lambda entry: entry.intent.seq)
        first.in_doubt = True
        _couple(run, first)


def _taken(entry: _Entry, old: Owned | None, start: RunStart) -> Owned | None:
    """The ledger's entry after an apply."""
    intent, ack = entry.intent, entry.ack
    if not _was_reached(entry):
        return old  # never written
    if ack is not None and ack.errno and not entry.coupled and alike(intent.setting.codec, intent.before, ack.held):
        return old  # refused: still what it was
    chained = old if old is not None and (old.original is None or _was_ours(old, intent.before)) else None
    unread = intent.before if chained else None
    return Owned(
        setting=intent.setting,
        original=chained.original if chained else intent.before,
        held=ack.held if ack else unread,
        run=start.run,
        boot_id=start.boot_id,
        in_doubt=entry.in_doubt or (ack is not None and ack.errno != 0),
        coupled=entry.coupled,
        writes=intent.writes,
        identity=(ack.identity if ack else "") or intent.identity or (chained.identity if chained else ""),
    )


def _was_ours(old: Owned, before: str | None) -> bool:
    """Whether a later run found what an earlier one had left; else the later one took over somebody else's value."""
    return before is not None and ours(old, before)


def _taken_back(entry: _Entry, old: Owned | None, start: RunStart) -> Owned | None:
    """The ledger's entry after a rollback: gone when the host holds the original, else with what the rollback left."""
    intent, ack = entry.intent, entry.ack
    told = ack is not None and not ack.errno and not entry.coupled
    if old is None or (told and ack is not None and alike(intent.setting.codec, old.original, ack.held)):
        return None
    if not _was_reached(entry):
        return old
    if told and ack is not None:
        identity = ack.identity or old.identity  # a cgroup that was made again is another one
        known = replace(old, held=ack.held, in_doubt=False, coupled=False, writes=intent.writes)
        return replace(known, identity=identity, boot_id=start.boot_id)
    if entry.in_doubt or (ack is not None and len(intent.writes) > 1):
        old = replace(old, in_doubt=True, writes=(*old.writes, *intent.writes))
    return replace(old, coupled=old.coupled or entry.coupled)


def _was_reached(entry: _Entry) -> bool:
    """Whether its write, or one that moves it too, was begun."""
    written = entry.intent.action is not Action.NONE and entry.ack is not None
    return written or entry.in_doubt or entry.touched
