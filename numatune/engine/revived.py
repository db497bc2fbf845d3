"""What this boot has made so again: a reboot makes live values nobody's, and `reapply` makes them numatune's once more.

It is no run. What it brings back belongs to the run that holds it, whose originals stay what they are; but that run was
of another boot, so a file of its own says which of its values are in force in this one, until the next reboot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from numatune.engine import store, when
from numatune.settings.applied import Boot, Revived
from numatune.settings.journal import Owned
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Remembered

Rows = Mapping[SettingId, Revived]


def load(path: str, boot_id: str) -> Rows:
    """By setting what was made so again in this boot. Raises TrustError, StateError."""
    found = store.load(path, Boot, broken="remove it: numatune reapply makes it again")
    return {row.id: row for row in found.rows} if found and boot_id and found.boot_id == boot_id else {}


def save(path: str, boot_id: str, rows: Rows) -> None:
    """Put it in place of what was known, of this boot or an earlier one. Raises StateError."""
    store.save(path, Boot(boot_id, when.stamp(), tuple(rows.values())))


def merged(known: Rows, rows: Iterable[Revived]) -> dict[SettingId, Revived]:
    """What is known with newer rows laid over it. What was there first in this boot stays the original."""
    out = dict(known)
    for row in rows:
        old = out.get(row.id)
        first = old is not None and old.missing is not None and row.missing is None
        out[row.id] = replace(row, missing=old.missing, original=old.original) if old and first else row
    return out


def overlay(
    ledger: Mapping[SettingId, Owned], rows: Rows, boot_id: str, runs: Iterable[int] = ()
) -> dict[SettingId, Owned]:
    """The ledger of these runs, as far as this boot has it in force again."""
    ours = {sid: row for sid, row in rows.items() if row.held is not None or row.writes}
    out = {sid: _again(owned, ours[sid], boot_id) if sid in ours else owned for sid, owned in ledger.items()}
    involved = set(runs)
    for sid, row in ours.items():
        if sid not in out and row.missing is not None and row.run in involved:
            out[sid] = _made(row, row.missing, boot_id)
    return out


def in_force(rows: Rows) -> frozenset[SettingId]:
    """What got there; what was refused is still as the reboot left it."""
    return frozenset(sid for sid, row in rows.items() if row.held is not None)


def learned(rows: Rows) -> dict[SettingId, Remembered]:
    """What this boot learned by trying."""
    return {sid: row.learned for sid, row in rows.items() if row.learned}


def _again(owned: Owned, row: Revived, boot_id: str) -> Owned:
    """Of an older run than the one that holds it only this is known: it counts again."""
    if owned.run != row.run:
        return replace(owned, boot_id=boot_id)
    return replace(
        owned,
        boot_id=boot_id,
        also=() if row.held is None else (row.held,),
        identity=row.identity or owned.identity,
        in_doubt=owned.in_doubt or bool(row.writes),
        writes=(*owned.writes, *row.writes),
    )


def _made(row: Revived, setting: Setting, boot_id: str) -> Owned:
    """Of what no run had to write: it was right without numatune at the apply, and was not in this boot."""
    return Owned(
        setting,
        row.original,
        row.held,
        row.run,
        boot_id,
        in_doubt=bool(row.writes),
        writes=row.writes,
        identity=row.identity,
    )
