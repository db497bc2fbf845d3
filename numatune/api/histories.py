"""The runs of a host: which there were, what each did, which was cut off. Needs no root, changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numatune.engine.runs import Run
    from numatune.host.protocol import Reader
    from numatune.settings.history import PastRow, PastRun, RunState
    from numatune.settings.model import SettingId


@dataclass(frozen=True, slots=True)
class History:
    """Runs, oldest first; `rows`: of the one run that was asked for."""

    runs: tuple[PastRun, ...]
    rows: tuple[PastRow, ...] | None = None


def history(reader: Reader, run: int | None = None) -> History:
    """All runs that are kept, or one with its rows. Raises UsageError when there is no such run.

    A captured tree has none.
    """
    from numatune.api.memory import listed as all_of
    from numatune.errors import UsageError

    listed = all_of(reader)
    past = tuple(_past(one, listed, reader) for one in listed)
    if run is None:
        return History(past)
    for one, told in zip(listed, past, strict=True):
        if one.number == run:
            return History((told,), _rows(one))
    known = ", ".join(str(one.number) for one in listed[-10:]) or "none"
    raise UsageError("", f"there is no run {run}", accepted=f"one of the last: {known}")


def cut_off(reader: Reader) -> PastRun | None:
    """The newest run when it was cut off, and nothing is going on that could still end it."""
    from numatune.engine import ended, paths

    if ended.certainly(paths.runs(paths.state(reader.root))):
        return None
    from numatune.engine import runs

    newest = runs.newest(paths.runs(paths.state(reader.root)))
    if newest is None or newest.end is not None:
        return None
    past = _past(newest, (newest,), reader)
    return past if past.state == "cut off" else None


def _past(run: Run, listed: Sequence[Run], reader: Reader) -> PastRun:
    from numatune.settings.history import PastRun

    by = next((other.number for other in listed if run.number in _undone(other)), 0)
    return PastRun(run.start, run.end, _state(run, listed, reader, by), by)


def _undone(run: Run) -> tuple[int, ...]:
    return run.start.undoes if run.end and run.end.result == "done" else ()


def _state(run: Run, listed: Sequence[Run], reader: Reader, by: int) -> RunState:
    from numatune.engine import lock, paths
    from numatune.engine.boot import boot_id

    if by:
        return "taken back"
    if run.end is None:
        holder = lock.holder(paths.lock(reader.root)).split()[:2]  # whoever just looks at the host holds it too
        return "running" if run is listed[-1] and holder == ["pid", str(run.start.pid)] else "cut off"
    if run.start.kind == "rollback":
        return "done" if run.end.result == "done" else "incomplete"
    if not run.end.changed:
        return "changed nothing"
    return "in force" if run.start.boot_id == boot_id(reader) else "rebooted"


def _rows(run: Run) -> tuple[PastRow, ...]:
    from numatune.engine import journal
    from numatune.settings.history import PastRow
    from numatune.settings.journal import Ack, Intent, Repaired
    from numatune.settings.plan import Action

    intents: dict[SettingId, Intent] = {}
    acks: dict[int, Ack] = {}
    errnos: dict[int, int] = {}
    repairs: dict[str, list[str]] = {}
    for record in journal.read(run.path):
        match record:
            case Intent():
                intents[record.setting.id] = record
            case Ack():
                acks[record.seq] = record
                errnos[record.seq] = record.errno or errnos.get(record.seq, 0)
            case Repaired():
                repairs.setdefault(record.id, []).append(record.when)
            case _:
                pass
    return tuple(
        PastRow(
            setting=intent.setting,
            action=intent.action,
            before=intent.before,
            held=ack.held if (ack := acks.get(intent.seq)) else None,
            errno=errnos.get(intent.seq, 0),
            repairs=tuple(repairs.get(sid, ())),
        )
        for sid, intent in intents.items()
        if intent.action is not Action.NONE or (intent.seq in acks and acks[intent.seq].held != intent.before)
    )
