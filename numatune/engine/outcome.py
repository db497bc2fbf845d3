"""What became of one row, judged by what the host holds once everything is written. Pure."""

from __future__ import annotations

from numatune.engine import kinds
from numatune.engine.diff import Options, row
from numatune.settings.codecs import alike, shown
from numatune.settings.journal import RunKind
from numatune.settings.plan import Action, Change, Observation, Outcome, Status

_IN_FORCE = frozenset({Status.OK, Status.PENDING})


def unchanged(change: Change) -> Outcome:
    """The outcome of a row that was not to be written."""
    seen = change.seen
    return Outcome(
        id=change.setting.id,
        status=change.status,
        before=seen.text,
        wrote=(),
        held=seen.text,
        reason=change.reason,
        effective=seen.effective,
        conflicts=seen.conflicts,
    )


def outcome(change: Change, now: Observation, code: int | None, *, before: str | None, kind: RunKind) -> Outcome:
    """`code`: the errno of its write; None: it was not written. `before`: what the host held before the run."""
    gives_back = kind == "rollback" or change.action is Action.RELEASE
    status, reason = _given_back(change, now, code) if gives_back else _applied(change, now, code)
    return Outcome(
        id=change.setting.id,
        status=status,
        before=before,
        wrote=change.writes if code is not None else (),
        held=now.text,
        errno=code or 0,
        changed=not alike(change.setting.codec, before, now.text),
        reason=reason,
        effective=now.effective,
        conflicts=now.conflicts,
    )


def _applied(change: Change, now: Observation, code: int | None) -> tuple[Status, str]:
    setting = change.setting
    after = row(setting, now, Options(allow_disruption=True, allow_unsafe=frozenset({setting.id}), retry=True))
    if after.status in _IN_FORCE:
        return after.status, after.reason
    if code:
        return kinds.refusal(setting.target, code)
    if code is None:
        planned_to_hold = change.status in _IN_FORCE and not (change.seen.text is None and now.text is None)
        return (
            (after.status, "it moved while other settings were written")
            if planned_to_hold
            else (change.status, change.reason)
        )
    if after.status is Status.DRIFTED:
        held = shown(setting.codec, now.text) or "nothing"
        return Status.CLAMPED, f"asked {shown(setting.codec, setting.want)}, the kernel holds {held}"
    return after.status, after.reason


def _given_back(change: Change, now: Observation, code: int | None) -> tuple[Status, str]:
    setting = change.setting
    if alike(setting.codec, setting.want, now.text):
        return Status.OK, ""
    if code:
        return kinds.refusal(setting.target, code)
    if code is None:
        return (Status.DRIFTED if change.status is Status.OK else change.status), change.reason
    held = shown(setting.codec, now.text) or "nothing"
    return Status.CLAMPED, f"was {shown(setting.codec, setting.want)}, the kernel holds {held}"
