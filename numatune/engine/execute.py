"""The only code that writes to a host: apply, repair and rollback all come through here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from numatune.engine import kinds
from numatune.engine.conflicts import named
from numatune.engine.diff import Options, row
from numatune.engine.drift import outlives_reboot
from numatune.engine.journal import Journal
from numatune.engine.observe import look
from numatune.engine.outcome import outcome, unchanged
from numatune.engine.restore import again
from numatune.host.once import AskedOnce
from numatune.host.protocol import Host
from numatune.settings.journal import Ack, Intent, Ready, RunEnd, RunStart
from numatune.settings.model import Impact, Phase, SettingId
from numatune.settings.plan import Action, Change, Observation, Outcome, Status, counts
from numatune.settings.targets import PLACES, OwnedFile, Target

Progress = Callable[[int, int, Change], None]
Replan = Callable[[], Sequence[Change]]


def execute(  # noqa: PLR0913  # what is done, to what, written down where, told to whom
    changes: Sequence[Change],
    host: Host,
    journal: Journal,
    start: RunStart,
    *,
    progress: Progress | None = None,
    replan: Replan | None = None,
    spared: Sequence[str] = (),
) -> tuple[Outcome, ...]:
    """Carry out a plan: one outcome a row, read back after all writes.

    changes   in the order of writing, watched companions included
    progress  told after each write: how many are done, of how many, which
    replan    asked for a fresh plan once the units that stop have stopped, because some put old values back then
    spared    what a rollback leaves alone, noted at its end

    An apply that changes nothing writes no journal. Raises StateError when the journal cannot be written: before the
    first write to the host nothing is touched, later the run is cut off there, as by a kill.
    """
    if start.kind != "rollback" and all(change.action is Action.NONE for change in changes):
        return tuple(unchanged(change) for change in changes)
    run = _Run(host, journal, start, progress)
    run.begin(changes)
    quiet = [change for change in changes if change.setting.phase is Phase.QUIET and change.action is not Action.NONE]
    for change in quiet:
        run.turn(change)
    if quiet and replan:
        changes = run.replanned(changes, replan())
    for change in changes:
        run.turn(change)
    return run.end(changes, spared)


class _Run:
    """What one run knows while it writes.

    intents  by setting: the record in force
    written  by setting: the errno of its write
    touched  targets that a partner's write may have moved
    """

    def __init__(self, host: Host, journal: Journal, start: RunStart, progress: Progress | None) -> None:
        self._host = host
        self._journal = journal
        self._start = start
        self._progress = progress
        self._intents: dict[SettingId, Intent] = {}
        self._by_target: dict[Target, SettingId] = {}
        self._planned: dict[SettingId, Change] = {}
        self._written: dict[SettingId, int] = {}
        self._touched: set[Target] = set()
        self._total = 0
        self._reload_due = False
        self._gone: list[str] = []

    def begin(self, changes: Sequence[Change]) -> None:
        """Everything that will be written goes to disk before anything is."""
        self._journal.append(self._start)
        for change in _kept(changes):
            self._intend(change, len(self._intents), change.seen.text)
        self._journal.append(Ready(), sync=True)
        self._planned = {change.setting.id: change for change in changes}
        self._total = sum(change.action is not Action.NONE for change in changes)

    def replanned(self, old: Sequence[Change], fresh: Sequence[Change]) -> tuple[Change, ...]:
        """The rest of the plan anew. Intents that are no longer as written are written again, in the new order."""
        rest = [change for change in fresh if change.setting.id not in self._written]
        kept = _kept(rest)
        known = [intent.setting.id for intent in self._intents.values() if intent.setting.id not in self._written]
        same_order = known == [change.setting.id for change in kept]
        first = max((intent.seq for intent in self._intents.values()), default=-1) + 1
        for place, change in enumerate(kept, first):
            before = self._intents.get(change.setting.id)
            if before is None or not same_order or _differs(before, change, change.seen.text):
                seq = before.seq if before and same_order else place
                self._intend(change, seq, change.seen.text)
        for sid in set(known) - {change.setting.id for change in kept}:
            gone = self._intents[sid]
            self._write_intent(replace(gone, action=Action.NONE, writes=()))
        self._journal.append(Ready(), sync=True)
        self._planned |= {change.setting.id: change for change in rest}
        done = [self._planned[change.setting.id] for change in old if change.setting.id in self._written]
        self._total = len(done) + sum(change.action is not Action.NONE for change in rest)
        return (*done, *rest)

    def turn(self, change: Change) -> None:
        """One row: look again, plan anew what has moved, write, note what came of it."""
        sid = change.setting.id
        if sid not in self._intents or sid in self._written or self._planned[sid].held:
            return
        change = self._anew(self._planned[sid], look(change.setting, self._host))
        self._planned[sid] = change
        if change.action is Action.NONE:
            return
        self._reread_companions(change)
        if not isinstance(change.setting.target, OwnedFile):
            self._reload()
        code = kinds.carry_out(change, self._host)
        self._written[sid] = code
        held = look(change.setting, self._host)
        self._note_unit(change.setting.target, code, held)
        ack = Ack(self._intents[sid].seq, code, held.text, identity=held.identity)
        self._journal.append(ack, sync=outlives_reboot(change.setting.target))
        self._touched |= {companion.target for companion in change.setting.companions}
        if self._progress:
            self._progress(len(self._written), self._total, change)

    def end(self, changes: Sequence[Change], spared: Sequence[str]) -> tuple[Outcome, ...]:
        """Look at everything again after all writes, because one knob moves another; note and tell it."""
        self._reload()
        out: list[Outcome] = []
        missed = list(spared)
        seen = self._seen(changes)
        for planned in changes:
            sid = planned.setting.id
            change, now = self._planned[sid], seen[sid]
            intent, code = self._intents.get(sid), self._written.get(sid)
            if intent:
                self._journal.append(Ack(intent.seq, code or 0, now.text, final=True, identity=now.identity))
            came = outcome(
                change, now, code, before=intent.before if intent else change.seen.text, kind=self._start.kind
            )
            out.append(came)
            if self._start.kind == "rollback" and code is None and came.status is not Status.OK:
                missed.append(sid)
        self._journal.append(self._ended(changes, out, missed), sync=True)
        return tuple(out)

    def _note_unit(self, target: Target, code: int, held: Observation) -> None:
        """Whether this wrote or removed a unit's own file, of which systemd has to hear."""
        if isinstance(target, OwnedFile) and target.reload and not code:
            self._reload_due = True
            self._gone += [PurePath(target.path).name] if held.text is None else []

    def _reload(self) -> None:
        """Have systemd read the unit files that were written: once for all of them, before a unit is told anything."""
        if self._reload_due:
            self._host.run(("systemctl", "daemon-reload"))
            self._reload_due = False
        if self._gone:
            self._forget(self._gone)
            self._gone.clear()

    def _forget(self, units: Sequence[str]) -> None:
        """Leave nothing of units whose files are gone: systemd lists a failed one on, and calls the host degraded.

        A service of them that is at it waits for this run to end, and would then fail. SIGTERM would have it go on to
        what it does when it stops. The boot unit takes itself away, where it finds an apply that was cut off.
        """
        groups = (self._host.read("/proc/self/cgroup").text or "").splitlines()
        own = {PurePath(line).name for line in groups}
        services = [unit for unit in units if unit.endswith(".service") and unit not in own]
        if services:
            self._host.run(("systemctl", "kill", "--signal=KILL", *services))
            self._host.run(("systemctl", "stop", *services))
        self._host.run(("systemctl", "reset-failed", *units))

    def _seen(self, changes: Sequence[Change]) -> Mapping[SettingId, Observation]:
        """What the host holds now. Of an apply also who else still sets it: some of them were stopped just now."""
        once = AskedOnce(self._host)
        seen = {change.setting.id: look(change.setting, once) for change in changes}
        if self._start.kind != "apply":
            return seen
        return named([c.setting for c in changes if c.action is not Action.RELEASE], seen, self._host)

    def _ended(self, changes: Sequence[Change], outcomes: Sequence[Outcome], spared: Sequence[str]) -> RunEnd:
        rows = list(zip(changes, outcomes, strict=True))
        counted = sum(counts(change.setting, came.status, applying=True) for change, came in rows)
        tried = [came for came in outcomes if came.id in self._written]
        incomplete = self._start.kind == "rollback" and any(came.status is not Status.OK for came in tried)
        changed = sum(came.changed for came in outcomes)
        return RunEnd("incomplete" if incomplete else "done", changed, tuple(spared), counted)

    def _anew(self, change: Change, now: Observation) -> Change:
        """The row as planned; planned anew, and noted, where the host has moved since."""
        setting, seen = change.setting, change.seen
        intent = self._intents[setting.id]
        if setting.needs and self._written.get(setting.needs):
            status, _ = kinds.refusal(self._planned[setting.needs].setting.target, self._written[setting.needs])
            fresh = replace(change, status=status, action=Action.NONE, writes=(), reason=f"waits for {setting.needs}")
            self._intend(fresh, intent.seq, intent.before)
            return fresh
        moved = now.text != seen.text or (isinstance(setting.target, PLACES) and now.identity != seen.identity)
        if not moved:
            return change
        by_us = setting.target in self._touched or setting.needs in self._written
        if self._start.kind == "rollback" or change.action is Action.RELEASE:
            fresh = again(change, now, by_us=by_us)
        else:
            fresh = row(setting, now, _permitted(change))
        before = intent.before if by_us else now.text
        if _differs(intent, fresh, before):
            self._intend(fresh, intent.seq, before, sync=fresh.action is not Action.NONE)
        return fresh

    def _reread_companions(self, change: Change) -> None:
        """What this write moves besides: its value just before, if that is not what the plan saw."""
        for companion in change.setting.companions:
            sid = self._by_target.get(companion.target)
            if sid is None or sid in self._written or companion.target in self._touched:
                continue
            now = look(self._planned[sid].setting, self._host)
            if now.text != self._intents[sid].before:
                self._planned[sid] = replace(self._planned[sid], seen=now)
                self._write_intent(replace(self._intents[sid], before=now.text), sync=True)

    def _intend(self, change: Change, seq: int, before: str | None, *, sync: bool = False) -> None:
        intent = Intent(seq, change.setting, before, change.action, change.writes, change.seen.identity)
        self._write_intent(intent, sync=sync)

    def _write_intent(self, intent: Intent, *, sync: bool = False) -> None:
        self._intents[intent.setting.id] = intent
        self._by_target[intent.setting.target] = intent.setting.id
        self._journal.append(intent, sync=sync)


def _kept(changes: Sequence[Change]) -> list[Change]:
    """What is written, and what that moves besides."""
    watched = {
        companion.target
        for change in changes
        if change.action is not Action.NONE
        for companion in change.setting.companions
    }
    return [change for change in changes if change.action is not Action.NONE or change.setting.target in watched]


def _differs(intent: Intent, change: Change, before: str | None) -> bool:
    return (intent.action, intent.writes, intent.before) != (change.action, change.writes, before)


def _permitted(change: Change) -> Options:
    """What was allowed when the row was planned."""
    acts = change.action is not Action.NONE
    unsafe = {change.setting.id} if acts and change.seen.unsafe else set()
    return Options(
        allow_disruption=acts and change.impact is Impact.DISRUPTS, allow_unsafe=frozenset(unsafe), retry=True
    )
