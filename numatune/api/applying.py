"""A plan -> a host that is as the plan wants, what came of each row, and the applied set that drift compares with."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.planning import Request
    from numatune.api.repeating import Report
    from numatune.api.restoring import TakenBack
    from numatune.engine.execute import Progress
    from numatune.host.protocol import Host
    from numatune.settings.applied import AppliedSet, SavedPlan, Waiting
    from numatune.settings.model import Setting, SettingId
    from numatune.settings.plan import Change, Outcome, Plan


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a plan.

    outcomes    of every row, read back after all writes
    run         the number that rollback takes; None: nothing was written
    declined    somebody said no: nothing was done
    taken_back  a write was refused and the profile, or --on-error, wants all or nothing
    waiting     the run is taken back unless it is confirmed
    """

    plan: Plan
    outcomes: Mapping[SettingId, Outcome] = field(default_factory=dict)
    run: int | None = None
    declined: bool = False
    taken_back: TakenBack | None = None
    waiting: Waiting | None = None

    @property
    def differences(self) -> int:
        """How many rows still make the exit code 2."""
        return sum(_differs(change, self.outcomes.get(change.setting.id)) for change in self.plan.rows)


def apply(  # noqa: PLR0913  # what, and how, and who is told
    host: Host,
    request: Request | SavedPlan,
    *,
    why: str = "",
    wait: float = 60.0,
    confirm: Callable[[Plan], bool] | None = None,
    confirm_within: int | None = None,
    progress: Progress | None = None,
    report: Callable[[Applied], Report] | None = None,
) -> Applied:
    """Make the host as the request, or a saved plan, wants. The second time changes nothing and writes nothing.

    confirm         shown the plan when there is anything to do, without holding the lock; False: nothing is done
    confirm_within  seconds after which the run is taken back, unless somebody confirms it
    report          tells what came of it; where nothing was to do that is kept, and is what `repeated` gives
    Raises ProfileError before the host is touched, UnmetError where that is not what is expected of it, MovedError when
    a plan that was shown or saved no longer fits, LockedError, StateError when the journal cannot be written,
    NumatuneError when a run waits for confirm.
    """
    from numatune.api import expecting
    from numatune.api.planning import Request, prepare
    from numatune.api.repeating import Look
    from numatune.engine import lock, paths

    made, look = request, None
    if confirm:
        _nothing_waits(host)
        made = prepare(host, request) if isinstance(request, Request) else request
        expecting.stop_unmet(made, host)
        if made.plan.to_do and not confirm(made.plan):
            return Applied(made.plan, declined=True)
    with lock.held(paths.lock(host.root), "apply", wait):
        _nothing_waits(host)
        if isinstance(made, Request):
            look = Look(host, made)
            made = look.plan
        else:
            _check_unmoved(made, host)
        expecting.stop_unmet(made, host)
        done = _Apply(made, host, why).run(confirm_within, progress)
        if look and report:
            look.keep(done, report(done))
        return done


class _Apply:
    """One plan on its way to the host, with the lock held."""

    def __init__(self, saved: SavedPlan, host: Host, why: str) -> None:
        from numatune.api.memory import recall
        from numatune.api.planning import options_for
        from numatune.engine import paths, runs

        self._saved, self._plan, self._host = saved, saved.plan, host
        self._state = paths.state(host.root)
        self._folder = paths.runs(self._state)
        self._memory = recall(host, ledger=bool(saved.released))
        self._start = runs.head(self._folder, "apply", self._memory.boot_id, profiles=saved.plan.profiles, why=why)
        self._options = options_for(
            frozenset(saved.allow_unsafe), allow_disruption=saved.allow_disruption, retry=saved.retry
        )
        self._settings = tuple(
            change.setting
            for change in saved.plan.changes
            if change.setting.want is not None and change.setting.id not in saved.released
        )

    def run(self, confirm_within: int | None, progress: Progress | None) -> Applied:
        """Write, judge, remember."""
        if not self._plan.to_do:
            outcomes = self._execute(progress)
            self._store(outcomes)
            return Applied(self._plan, outcomes)
        waiting = None
        try:
            waiting = self._begin(confirm_within)
            outcomes = self._execute(progress)
        except (Exception, KeyboardInterrupt):
            self._forget_unbegun(waiting)
            raise
        if waiting and not any(outcome.changed for outcome in outcomes.values()):
            self._disarm(waiting)
            waiting = None
        done = Applied(self._plan, outcomes, self._start.run, waiting=waiting)
        if self._saved.on_error == "rollback" and any(_refused(c, outcomes) for c in self._plan.rows):
            done = dataclasses.replace(done, taken_back=self._take_back(), waiting=None)
        else:
            self._store(outcomes)
        self._end(done)
        return done

    def _begin(self, confirm_within: int | None) -> Waiting | None:
        """What must be there before the first write: the applied set's way back, room for the new one, the timer."""
        from numatune.engine import applied, confirm, paths

        if left := confirm.waits(paths.confirm(self._state), self._memory.boot_id):
            self._disarm(left)  # by a run that never began: it would take this one back
        self._tell_older_runs()
        applied.keep_before(self._folder, self._start.run, self._memory.applied)
        applied.reserve(paths.applied(self._state), self._set(self._plan.changes, {}))
        if confirm_within is None:
            return None
        return confirm.arm(paths.confirm(self._state), self._host, self._start, confirm_within)

    def _tell_older_runs(self) -> None:
        """What this run finds may be theirs though they never wrote that: a boot has worked it out anew."""
        from numatune.api.memory import listed, recall
        from numatune.engine import retell, runs
        from numatune.engine.fold import ours

        if not self._memory.revived:
            return
        ledger = recall(self._host, ledger=True).ledger
        found = [change for change in self._plan.changes if (own := ledger.get(change.setting.id)) and own.also]
        theirs = [c for c in found if c.seen.text is not None and ours(ledger[c.setting.id], c.seen.text)]
        retell.held(theirs, ledger, runs.choose(listed(self._host), every=True).runs)

    def _execute(self, progress: Progress | None) -> dict[SettingId, Outcome]:
        from numatune.engine.execute import execute
        from numatune.engine.journal import FileJournal

        journal, replan = FileJournal(self._folder), self._difference
        came = execute(self._plan.changes, self._host, journal, self._start, progress=progress, replan=replan)
        return {outcome.id: outcome for outcome in came}

    def _forget_unbegun(self, waiting: Waiting | None) -> None:
        """Undo `_begin`, unless the run has begun: then it is cut off, and rollback takes it back."""
        from numatune.engine import applied, journal, paths

        if os.path.lexists(journal.path_of(self._folder, self._start.run)):
            return
        if waiting:
            self._disarm(waiting)
        applied.unreserve(paths.applied(self._state))
        applied.forget_before(self._folder)

    def _disarm(self, waiting: Waiting) -> None:
        from numatune.engine import confirm, paths

        confirm.disarm(paths.confirm(self._state), self._host, waiting)

    def _difference(self) -> tuple[Change, ...]:
        from numatune.api.planning import difference

        whole = not (self._saved.add or self._saved.keep_released)
        return difference(self._settings, self._host, self._options, self._memory, whole=whole)

    def _take_back(self) -> TakenBack:
        from numatune.api.restoring import take_back

        return take_back(self._host, since=self._start.run)

    def _store(self, outcomes: Mapping[SettingId, Outcome]) -> None:
        """The applied set with how each row was left; not touched when it says the same already."""
        from numatune.api import drifting
        from numatune.engine import applied, paths

        old, new = self._memory.applied, self._set(self._difference(), outcomes)
        if old is None or new != dataclasses.replace(
            old, when=new.when, who=new.who, why=new.why, run=new.run, version=new.version
        ):
            applied.save(paths.applied(self._state), new)
        if not drifting.clean(self._host):
            drifting.remember_clean(self._host)

    def _set(self, after: Sequence[Change], outcomes: Mapping[SettingId, Outcome]) -> AppliedSet:
        """The applied set, given the plan once everything is written and what came of that."""
        from numatune.engine import applied

        old, saved = self._memory.applied, self._saved
        settings: tuple[Setting, ...] = self._settings
        owed = applied.still_owed(saved.plan.changes, saved.released, outcomes)
        if old and saved.add:
            settings = applied.laid_over(old.rows, settings)
            owed = tuple({setting.id: setting for setting in (*old.owed, *owed)}.values())
        rows = applied.rows(settings, after, outcomes, old, self._memory.boot_id)
        return applied.made(
            saved.parts,
            rows,
            self._host,
            boot_id=self._memory.boot_id,
            fingerprint=self._plan.host.fingerprint,
            who=self._start.who,
            why=self._start.why,
            run=self._start.run if self._plan.to_do else self._memory.newest,
            owed=owed,
            program=saved.program,
        )

    def _end(self, done: Applied) -> None:
        from numatune.api import log
        from numatune.engine import applied, runs

        changed = sum(outcome.changed for outcome in done.outcomes.values())
        counted = f", {done.differences} differ" if done.differences else ""
        back = ", taken back after a refused write" if done.taken_back else ""
        log.run(self._start, f"{changed} changed{counted}{back}")
        runs.prune(self._folder)
        applied.forget_before(self._folder)


def _differs(change: Change, outcome: Outcome | None) -> bool:
    from numatune.settings.plan import Action, Status, counts

    status = outcome.status if outcome else change.status
    if change.held:
        return False
    if change.action is Action.RELEASE:
        return status is not Status.OK
    return counts(change.setting, status, applying=True)


def _refused(change: Change, outcomes: Mapping[SettingId, Outcome]) -> bool:
    """Whether a write was refused, of a setting that counts."""
    outcome = outcomes.get(change.setting.id)
    return outcome is not None and outcome.errno != 0 and _differs(change, outcome)


def _nothing_waits(host: Host) -> None:
    """Raises NumatuneError while a run waits to be confirmed."""
    from numatune.api.confirming import waiting_run
    from numatune.engine.when import for_people
    from numatune.errors import NumatuneError

    waiting = waiting_run(host)
    if waiting:
        hint = f"numatune confirm keeps it, numatune rollback --run {waiting.run} takes it back"
        found = f"run {waiting.run} waits to be confirmed until {for_people(waiting.until)}"
        raise NumatuneError("", found, hint=hint)


def _check_unmoved(saved: SavedPlan, host: Host) -> None:
    """A plan that was shown or saved is carried out as it is, or not at all. Raises MovedError."""
    from numatune.api.memory import recall
    from numatune.discover import fingerprint
    from numatune.engine import applied
    from numatune.engine import saved as saved_plans

    memory = recall(host)
    now = saved_plans.Now(
        boot_id=memory.boot_id,
        fingerprint=fingerprint(host),
        newest_run=memory.newest,
        applied=applied.named(memory.applied),
        remembered=memory.remembered,
        holds=memory.holds,
    )
    saved_plans.check(saved, host, now)
