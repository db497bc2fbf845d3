"""Runs -> what was there before them, as far as it is ours to give back. Loads the standard library only."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.engine.execute import Progress
    from numatune.engine.journal import FileJournal
    from numatune.engine.restore import Spared
    from numatune.engine.runs import Chosen
    from numatune.host.protocol import Host, Reader
    from numatune.settings.journal import Record
    from numatune.settings.model import SettingId
    from numatune.settings.plan import Change, HostInfo, Outcome, Plan


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What a rollback does, or did.

    runs      what it takes back, oldest first; () when there is nothing to take back
    plan      a plan like any other: the originals as wanted values
    spared    what somebody else changed since, or cannot be given back, and why
    run       the rollback's own number; None: not carried out
    declined  somebody said no
    """

    runs: tuple[int, ...]
    plan: Plan
    spared: tuple[Spared, ...] = ()
    outcomes: Mapping[SettingId, Outcome] = field(default_factory=dict)
    run: int | None = None
    declined: bool = False

    @property
    def left(self) -> tuple[Change, ...]:
        """Rows that could not be given back."""
        from numatune.settings.plan import Status

        outcomes = self.outcomes
        return tuple(
            change
            for change in self.plan.changes
            if change.setting.id in outcomes and outcomes[change.setting.id].status is not Status.OK
        )


def rollback(  # noqa: PLR0913  # what, and how, and who is told
    host: Host,
    *,
    since: int | None = None,
    every: bool = False,
    wait: float = 60.0,
    confirm: Callable[[TakenBack], bool] | None = None,
    progress: Progress | None = None,
) -> TakenBack:
    """Take back the newest run that changed something, or run `since` and all later ones, or every one.

    confirm  shown what would be done, without holding the lock; False: nothing is done
    Raises UsageError when `since` cannot be taken back, MovedError when another run came while asking, LockedError.
    """
    from numatune.engine import lock, paths
    from numatune.errors import MovedError

    asked = proposal(host, since=since, every=every) if confirm else None
    if confirm and asked and asked.runs and not confirm(asked):
        return replace(asked, declined=True)
    with lock.held(paths.lock(host.root), "rollback", wait):
        if asked and _chosen(host, since, every=every).numbers != asked.runs:
            raise MovedError("", "another run came in between", hint="nothing was done; numatune history")
        return take_back(host, since=since, every=every, progress=progress)


def proposal(reader: Reader, *, since: int | None = None, every: bool = False) -> TakenBack:
    """What a rollback would do. Needs no root. Raises UsageError, TrustError, StateError."""
    return _proposed(reader, _chosen(reader, since, every=every))


def take_back(
    host: Host, *, since: int | None = None, every: bool = False, progress: Progress | None = None
) -> TakenBack:
    """As `rollback`, for who holds the lock."""
    from numatune.api import log
    from numatune.engine import paths, runs
    from numatune.engine.execute import execute
    from numatune.engine.journal import FileJournal

    chosen = _chosen(host, since, every=every)
    made = _proposed(host, chosen)
    if not chosen.numbers:
        return made
    folder = paths.runs(paths.state(host.root))
    _check_state(host, chosen)
    start = runs.head(folder, "rollback", made.plan.host.boot_id, undoes=chosen.numbers)
    journal = _Settling(FileJournal(folder, chosen.numbers), lambda: _settle(host, chosen, made.plan))
    spared = [one.id for one in made.spared]
    outcomes = execute(made.plan.changes, host, journal, start, progress=progress, spared=spared)
    done = replace(made, outcomes={outcome.id: outcome for outcome in outcomes}, run=start.run)
    _tidy(host)
    back = sum(outcome.changed for outcome in outcomes)
    left = f", {len(done.left)} not given back" if done.left else ""
    log.run(start, f"{back} given back{left}" + (f", {len(spared)} spared" if spared else ""))
    return done


def _chosen(reader: Reader, since: int | None, *, every: bool) -> Chosen:
    from numatune.api.memory import listed
    from numatune.engine import runs

    return runs.choose(listed(reader), since, every=every)


def _proposed(reader: Reader, chosen: Chosen) -> TakenBack:
    from numatune.engine import paths, revived, runs
    from numatune.engine.fold import fold
    from numatune.engine.observe import observe
    from numatune.engine.restore import restore
    from numatune.settings.plan import Plan

    host = host_info(reader)
    again = revived.load(paths.boot(paths.state(reader.root)), host.boot_id)
    ledger = revived.overlay(fold(runs.records(chosen.runs)), again, host.boot_id, chosen.numbers)
    seen = observe((owned.setting for owned in ledger.values()), reader, name_conflicts=False)
    changes, spared = restore(ledger, seen, host.boot_id)
    profiles = [info for run in chosen.runs if run.number in chosen.numbers for info in run.start.profiles]
    return TakenBack(chosen.numbers, Plan(tuple(dict.fromkeys(profiles)), host, changes), spared)


def host_info(reader: Reader) -> HostInfo:
    """As much as is read in no time: a rollback works nothing out anew."""
    from numatune.engine.boot import boot_id
    from numatune.settings.plan import HostInfo

    def text(path: str) -> str:
        return (reader.read(path).text or "").strip()

    return HostInfo(
        root=reader.root,
        kernel=text("/proc/sys/kernel/osrelease"),
        arch=text("/proc/sys/kernel/arch"),
        nodes=text("/sys/devices/system/node/online"),
        cpus=text("/sys/devices/system/cpu/online"),
        boot_id=boot_id(reader),
        fingerprint="",
    )


def _check_state(host: Host, chosen: Chosen) -> None:
    """Raises StateError for what `_settle` could not read, while the host is still untouched."""
    from numatune.engine import applied, confirm, paths
    from numatune.engine.boot import boot_id

    state = paths.state(host.root)
    applied.before(paths.runs(state), chosen.numbers[0])
    confirm.waits(paths.confirm(state), boot_id(host))


class _Settling:
    """The journal of a rollback. Before the end is written down, what goes with the values is back too.

    A kill in between leaves a rollback that was cut off, and the next one does all of it again.
    """

    def __init__(self, journal: FileJournal, settle: Callable[[], None]) -> None:
        self._journal, self._settle = journal, settle

    def append(self, record: Record, *, sync: bool = False) -> None:
        """As of the journal behind."""
        from numatune.settings.journal import RunEnd

        if isinstance(record, RunEnd):
            self._settle()
        self._journal.append(record, sync=sync)


def _settle(host: Host, chosen: Chosen, plan: Plan) -> None:
    """The applied set of before, and no wait for confirm of what is taken back."""
    from numatune.engine import applied, confirm, paths, release, runs

    state = paths.state(host.root)
    folder = paths.runs(state)
    left = [run for run in runs.to_take_back(runs.listed(folder)) if run.number not in chosen.numbers]
    release.tell_remade(plan.changes, chosen.runs, left, host)
    applied.bring_back(folder, chosen.numbers[0], paths.applied(state))
    waiting = confirm.waits(paths.confirm(state), plan.host.boot_id)
    if waiting and waiting.run in chosen.numbers:
        confirm.taken_back(paths.confirm(state), host, waiting)


def _tidy(host: Host) -> None:
    """No more journals than are kept; and the next drift is quick."""
    from numatune.api import drifting
    from numatune.engine import applied, paths, runs
    from numatune.errors import NumatuneError

    folder = paths.runs(paths.state(host.root))
    runs.prune(folder)
    applied.forget_before(folder)
    with contextlib.suppress(NumatuneError):  # the next drift looks for itself, and says what is wrong with the state
        drifting.remember_clean(host)
