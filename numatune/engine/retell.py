"""A run is told what has become of its settings outside of any run: its journal gets a line more.

`boot.json` knows that for one boot. That is too short for what outlives a reboot; and where a later run takes over what
a boot has worked out anew, the chain of originals would end there, and a rollback of both runs at that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numatune.engine import journal, runs
from numatune.settings.codecs import agree
from numatune.settings.journal import Ack, Intent, Owned
from numatune.settings.model import SettingId
from numatune.settings.plan import Change

Ledger = Mapping[SettingId, Owned]


def held(changes: Iterable[Change], ledger: Ledger, known: Iterable[runs.Run]) -> None:
    """What these rows hold now is what their runs have left there. Raises TrustError, StateError.

    changes  as wanted, or made so again; what the run says already is not said twice
    """
    ended = {run.number: run for run in known if run.end}
    for change in changes:
        setting, now = change.setting, change.seen
        owned = ledger.get(setting.id)
        run = ended.get(owned.run) if owned else None
        if owned is None or run is None or now.text is None:
            continue
        if owned.held is None or not agree(setting.codec, owned.held, now.text):
            seq = _intents(run)[setting.id].seq
            journal.note(run.path, Ack(seq, 0, now.text, final=True, identity=now.identity))


def written(changes: Iterable[Change], ledger: Ledger, known: Iterable[runs.Run]) -> None:
    """What no run had to write, and what is about to be written now, goes with the newest run. Raises as `held`."""
    new = [change for change in changes if change.setting.id not in ledger and change.writes]
    stack = [run for run in known if run.start.kind == "apply" and run.end]
    if not (new and stack):
        return
    run = stack[-1]
    first = max((intent.seq for intent in _intents(run).values()), default=-1) + 1
    for seq, change in enumerate(new, first):
        seen = change.seen
        journal.note(run.path, Intent(seq, change.setting, seen.text, change.action, change.writes, seen.identity))
        journal.note(run.path, Ack(seq, 0, change.writes[-1], final=True))


def _intents(run: runs.Run) -> dict[SettingId, Intent]:
    """The last of each setting."""
    return {record.setting.id: record for record in journal.read(run.path) if isinstance(record, Intent)}
