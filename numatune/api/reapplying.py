"""The host as its applied set says, once more: at boot, when a driver was bound again, or by hand.

A repair without its daily limit, and of what a reboot has reset too. It is no run: what a run has set stays that run's,
and its originals stay what they are. What this boot has made so again is written down in a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from numatune.compat import TYPE_CHECKING
from numatune.settings.applied import Revived
from numatune.settings.plan import Action

if TYPE_CHECKING:
    from numatune.api.memory import Memory
    from numatune.host.protocol import Host
    from numatune.settings.applied import AppliedSet
    from numatune.settings.drift import Drift, DriftRow
    from numatune.settings.model import Setting, SettingId
    from numatune.settings.plan import Change, Outcome


def reapply(host: Host, *, only: Sequence[str] = (), boot: bool = False, wait: float = 60.0) -> Drift:
    """Make the host as the applied set says. The drift that was found, with what was put back marked.

    only  these sections alone
    boot  nothing runs yet: what the last apply had leave to do may be done again, the first time in a boot; and what
          the boot before has left half-way is taken back first. Nothing may be applied after that: there is no row then
    Raises NumatuneError when nothing is applied, UsageError for a section that the set does not have, LockedError,
    TrustError, StateError, and ProfileError where values cannot be worked out anew; at boot the stored ones stand then.
    """
    from numatune.api import drifting
    from numatune.api.booting import take_back_first
    from numatune.api.memory import recall
    from numatune.engine import lock, paths
    from numatune.settings.drift import Drift

    with lock.held(paths.lock(host.root), "reapply", wait):
        leave = boot and not recall(host).revived
        if boot and take_back_first(host, lambda: _Reapply(host, only).note_early()) and recall(host).applied is None:
            return Drift((), (), stored=True)
        found = _Reapply(host, only, boot=boot, leave=leave).run()
        if not (only or found.counted or drifting.clean(host)):
            drifting.remember_clean(host)
    return found


@dataclass(frozen=True, slots=True)
class _Look:
    """Rows of a plan as they are now, and their letters."""

    changes: tuple[Change, ...]
    rows: tuple[DriftRow, ...]


class _Reapply:
    """One way from a look to the next, with the lock held."""

    def __init__(self, host: Host, only: Sequence[str], *, boot: bool = False, leave: bool = False) -> None:
        from numatune.api import anew
        from numatune.api.memory import listed, recall
        from numatune.engine import applied, paths, runs

        self._host, self._boot, self._has_leave = host, boot, leave
        self._state = paths.state(host.root)
        self._memory = recall(host, ledger=True)
        self._stored = _stored(self._memory)
        chosen = runs.choose(listed(host), every=True)
        self._runs, self._newest = chosen.runs, max(chosen.numbers, default=self._stored.run)
        _check_sections(only, self._stored)
        self._anew = anew.why(self._stored, host)
        self._settings: tuple[Setting, ...] = applied.chosen(self._wanted(), only, ())

    def _wanted(self) -> tuple[Setting, ...]:
        """The stored values, or what they are on a host that has changed. Raises ProfileError, except at boot.

        At boot nobody is there to mend the profile: what is stored is better than nothing, without any leave.
        """
        from numatune.api import anew, log
        from numatune.errors import ProfileError

        if not self._anew:
            return self._stored.settings
        try:
            return anew.settings(self._stored, self._host)
        except ProfileError as error:
            if not self._boot:
                raise
            log.line(f"{self._anew}; the stored profile does not fit, its stored values stand: {error.problems[0]}")
            self._anew, self._has_leave = "", False
            return self._stored.settings

    def run(self) -> Drift:
        """Look, write, look again; say what is in force in this boot, and what outlives it."""
        from numatune.engine import retell
        from numatune.settings.drift import Drift
        from numatune.settings.plan import AS_WANTED

        before = self._look()
        after: _Look = before
        outcomes: dict[SettingId, Outcome] = {}
        touched = _touched(before.changes)
        if touched:
            self._note(self._begun(touched))
            retell.written(_lasting(touched), self._memory.ledger, self._runs)
            outcomes = self._write(before.changes)
            after = self._look()
        self._note(self._in_force(touched, after.changes, outcomes))
        as_wanted = (change for change in _lasting(after.changes) if change.status in AS_WANTED)
        retell.held(as_wanted, self._memory.ledger, self._runs)
        again = {row.change.setting.id: row for row in after.rows}
        stored, memory = self._stored, self._memory
        return Drift(
            tuple(_marked(row, again, outcomes) for row in before.rows),
            stored.profiles,
            stored=True,
            since=stored.when,
            run=stored.run,
            anew=self._anew,
            rebooted=memory.rebooted() and not memory.revived,
        )

    def note_early(self) -> None:
        """What is as wanted though nobody has written it in this boot, early boot has set: that is in force."""
        self._note(self._in_force((), self._changes(), {}))

    def _look(self) -> _Look:
        from numatune.engine.drift import compare
        from numatune.engine.revived import in_force

        changes, memory = self._changes(), self._memory
        known = {row.setting.id: row for row in self._stored.rows}
        return _Look(changes, compare(changes, known, rebooted=memory.rebooted(), revived=in_force(memory.revived)))

    def _changes(self) -> tuple[Change, ...]:
        """The rows of a plan, holds respected, without what a run that was cut off in this boot leaves in doubt."""
        from numatune.engine import holds, when
        from numatune.engine.diff import Options, diff
        from numatune.engine.observe import flat, observe
        from numatune.settings.model import Refuse

        wanted, memory = flat(self._settings), self._memory
        seen = observe(wanted, self._host)
        strict = Options(allow_disruption=any(part.allow_disruption for part in self._stored.parts))
        changes = diff(wanted, seen, strict, memory.remembered)
        if self._has_leave and not self._anew:
            got_there = self._got_there()
            unsafe = frozenset(s.id for s in wanted if s.id in got_there and isinstance(s.guard, Refuse))
            told = {change.setting.id: change for change in changes}
            wide = diff(wanted, seen, Options(allow_disruption=True, allow_unsafe=unsafe), memory.remembered)
            changes = tuple(c if c.setting.id in got_there else told[c.setting.id] for c in wide)
        in_doubt = self._in_doubt()
        changes = tuple(_left_alone(change) if change.setting.id in in_doubt else change for change in changes)
        return holds.respect(changes, memory.holds, when.stamp())

    def _got_there(self) -> frozenset[SettingId]:
        """What the last apply brought about, with whatever leave it had: at boot nothing runs that would feel it."""
        from numatune.settings.plan import AS_WANTED

        return frozenset(row.setting.id for row in self._stored.rows if row.last and row.last.status in AS_WANTED)

    def _in_doubt(self) -> frozenset[SettingId]:
        """What a run that was cut off in this boot holds: its rollback comes first. After a rollback was: all."""
        from numatune.api.memory import listed
        from numatune.engine import runs

        newest = runs.cut_off(listed(self._host))
        if newest and newest.start.kind == "rollback":
            return frozenset(setting.id for setting in self._settings)
        if newest is None or newest.start.boot_id != self._memory.boot_id:
            return frozenset()
        return frozenset(sid for sid, owned in self._memory.ledger.items() if owned.run == newest.number)

    def _write(self, changes: Sequence[Change]) -> dict[SettingId, Outcome]:
        """Once all of it is written down."""
        from numatune.api import log
        from numatune.api.repairing import Unwritten
        from numatune.engine import paths, runs
        from numatune.engine.execute import execute

        start = runs.head(paths.runs(self._state), "repair", self._memory.boot_id)
        came = execute(changes, self._host, Unwritten(), start, replan=self._changes)
        changed = sum(outcome.changed for outcome in came)
        log.line(f"reapply by {start.who}: {changed} put back{' at boot' if self._boot else ''}")
        return {outcome.id: outcome for outcome in came}

    def _note(self, rows: Iterable[Revived]) -> None:
        """Put what is in force in this boot on disk, unless that says it already."""
        from numatune.engine import paths, revived

        path = paths.boot(self._state)
        known = revived.load(path, self._memory.boot_id)
        merged = revived.merged(known, rows)
        if merged != known:
            revived.save(path, self._memory.boot_id, merged)

    def _begun(self, touched: Iterable[Change]) -> Iterator[Revived]:
        """What is about to be written, and what that moves besides."""
        for change in touched:
            yield replace(self._row(change), writes=change.writes or ("",))

    def _in_force(
        self, touched: Sequence[Change], after: Iterable[Change], outcomes: Mapping[SettingId, Outcome]
    ) -> Iterator[Revived]:
        """What was written, with what was learned by trying; after a reboot also what was found as wanted."""
        from numatune.engine import applied
        from numatune.engine.drift import outlives_reboot
        from numatune.settings.plan import AS_WANTED

        was, memory = {change.setting.id: change for change in touched}, self._memory
        for change in after:
            setting, sid, seen = change.setting, change.setting.id, change.seen
            if sid in was:
                came = outcomes.get(sid)
                row = replace(self._row(was[sid]), learned=applied.learned(setting, came, memory.boot_id))
                refused = came is not None and came.errno and not came.changed
                yield row if refused else replace(row, held=seen.text, identity=seen.identity)
            elif outlives_reboot(setting.target) or not memory.rebooted() or sid in memory.revived:
                continue
            elif change.status in AS_WANTED and seen.text is not None:
                yield Revived(sid, self._run(sid), held=seen.text, identity=seen.identity)
        if memory.rebooted():
            yield from self._given_back_before()

    def _given_back_before(self) -> Iterator[Revived]:
        """What the set no longer wants, and a boot has left as the apply had: whose rollback wants it again."""
        from numatune.engine.drift import outlives_reboot
        from numatune.engine.fold import ours
        from numatune.engine.observe import flat, observe

        memory = self._memory
        wanted = {setting.id for setting in flat((*self._stored.settings, *self._settings))}
        dropped = {
            sid: owned
            for sid, owned in memory.ledger.items()
            if sid not in wanted and sid not in memory.revived and not (owned.in_doubt or owned.coupled)
        }
        seen = observe((owned.setting for owned in dropped.values()), self._host, name_conflicts=False)
        for sid, owned in dropped.items():
            now = seen[sid]
            if now.text is not None and not outlives_reboot(owned.setting.target) and ours(owned, now.text):
                yield Revived(sid, owned.run, held=now.text, identity=now.identity)

    def _row(self, change: Change) -> Revived:
        """Whose it is; where no run knows what was there before, what a rollback gives back."""
        sid = change.setting.id
        if sid in self._memory.ledger:
            return Revived(sid, self._run(sid))
        setting = replace(change.setting, source=None, why="")
        return Revived(sid, self._run(sid), missing=setting, original=change.seen.text)

    def _run(self, sid: SettingId) -> int:
        """Who holds it; of what no run has written, the newest run that a rollback can name."""
        owned = self._memory.ledger.get(sid)
        return owned.run if owned else self._newest


def _touched(changes: Iterable[Change]) -> tuple[Change, ...]:
    """What is written, and what the kernel rewrites beside it."""
    every = tuple(changes)
    todo = {change.setting.id for change in every if change.action is not Action.NONE and not change.held}
    beside = {c.target for change in every if change.setting.id in todo for c in change.setting.companions}
    return tuple(change for change in every if change.setting.id in todo or change.setting.target in beside)


def _lasting(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Those whose values outlive a reboot."""
    from numatune.engine.drift import outlives_reboot

    return tuple(change for change in changes if outlives_reboot(change.setting.target))


def _left_alone(change: Change) -> Change:
    from numatune.engine.repair import CUT_OFF

    return change if change.action is Action.NONE else replace(change, action=Action.NONE, writes=(), reason=CUT_OFF)


def _marked(row: DriftRow, again: Mapping[SettingId, DriftRow], outcomes: Mapping[SettingId, Outcome]) -> DriftRow:
    """The row with what became of it."""
    now, outcome = again[row.change.setting.id], outcomes.get(row.change.setting.id)
    if outcome is None or not (outcome.wrote or outcome.changed):
        return now
    if now.counted:
        return replace(now, note=f"could not be put back: {outcome.reason or outcome.status}")
    return replace(row, repaired=True, counted=False) if outcome.changed else now


def _stored(memory: Memory) -> AppliedSet:
    from numatune.errors import NumatuneError

    if memory.applied is None:
        raise NumatuneError("reapply", "nothing is applied on this host", hint="numatune apply PROFILE")
    return memory.applied


def _check_sections(only: Sequence[str], stored: AppliedSet) -> None:
    """Raises UsageError. Interrupts and queues may come with a device that was not there at the last apply."""
    from numatune.errors import UsageError
    from numatune.settings.persisted import RESET_BY_LINKS

    known = sorted({*RESET_BY_LINKS, *(setting.section for setting in stored.settings)})
    for section in only:
        if section not in known:
            raise UsageError("--only", f"nothing of {section!r} is applied", accepted=", ".join(known))
