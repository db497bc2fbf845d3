"""What drift may put back by itself, and when it must stop. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import assert_never

from numatune.engine.drift import CHANGE, MOVED
from numatune.engine.fold import left
from numatune.settings.codecs import meets
from numatune.settings.drift import DriftRow
from numatune.settings.journal import Owned, Record, Repaired
from numatune.settings.model import Impact, SettingId

LIMIT = 3
"""Repairs of one setting within PERIOD; then somebody else means it."""

PERIOD = "24 hours"

CUT_OFF = "left alone: the run that set it was cut off, numatune rollback comes first"


def repairable(row: DriftRow, ledger: Mapping[SettingId, Owned], boot_id: str) -> bool:
    """Whether numatune had set it, somebody moved it, and putting it back disturbs nobody."""
    setting = row.change.setting
    owned = ledger.get(setting.id)
    if owned is None or owned.boot_id != boot_id or setting.want is None:
        return False
    want = setting.want
    had_set = any(meets(setting.codec, want, text) for text in left(owned))
    return had_set and row.counted and row.letters == MOVED + CHANGE and row.change.impact is Impact.LIVE


def left_alone(row: DriftRow, ledger: Mapping[SettingId, Owned], boot_id: str) -> str:
    """Why a row that somebody moved and apply would set is not for repair, in words; "" of any other row."""
    if not row.counted or row.letters != MOVED + CHANGE:
        return ""
    match row.change.impact:
        case Impact.NEW_PROCESSES:
            return "left alone: only new processes would get it"
        case Impact.DISRUPTS:
            return "left alone: running work would feel it"
        case Impact.LIVE:
            owned = ledger.get(row.change.setting.id)
            ours = owned is not None and owned.boot_id == boot_id
            why = "the last apply did not get it there" if ours else "numatune found it so, did not set it"
            return f"left alone: {why}"
        case _:
            assert_never(row.change.impact)


def repairs(records: Iterable[Record], since: str) -> Counter[str]:
    """How often each setting was put back after `since`."""
    return Counter(record.id for record in records if isinstance(record, Repaired) and record.when > since)


def owners(row: DriftRow) -> str:
    """Who likely sets it to something else, in words."""
    named = [f"{conflict.owner} ({conflict.where})" for conflict in row.change.seen.conflicts]
    return " or ".join(named) or "somebody that numatune does not know"


def given_up(row: DriftRow) -> str:
    """Why it is not put back again, in words."""
    return f"put back {LIMIT} times within {PERIOD} and left alone now: {owners(row)} keeps setting it"
