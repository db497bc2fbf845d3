"""The applied set: what the host is meant to be since the last apply. Where it lies, how it is made and merged.

Beside the set, each run keeps the set that was there before it, so that a rollback of the run brings that back too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from numatune import __version__
from numatune.engine import store, trust, when
from numatune.engine.kinds import irq
from numatune.host.protocol import Reader
from numatune.settings.applied import PERSIST, AppliedRow, AppliedSet, Part
from numatune.settings.journal import LastSeen
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Change, Outcome, Remembered, Status
from numatune.settings.targets import IrqAffinity, Nothing, Target

_LEARNED = frozenset({Status.CLAMPED, Status.UNCHANGEABLE})
_KEPT = ".before.json"


def load(path: str) -> AppliedSet | None:
    """The stored set; None when nothing is applied. Raises TrustError, StateError."""
    return store.load(path, AppliedSet)


def save(path: str, applied: AppliedSet) -> None:
    """Make this the host's applied set, in the room that was kept for it. Raises StateError."""
    store.unreserve(path)
    store.save(path, applied)


def named(applied: AppliedSet | None) -> str:
    """A name that tells one applied set of a host from those before and after it; "" where nothing is applied."""
    if applied is None:
        return ""
    return " ".join([applied.when, *(f"{info.name}:{info.hash}" for info in applied.profiles)])


def reserve(path: str, applied: AppliedSet) -> None:
    """Keep room for a set that will come out much like this one. Raises StateError."""
    store.reserve(path, applied)


def unreserve(path: str) -> None:
    """Give that room back."""
    store.unreserve(path)


def chosen(settings: Iterable[Setting], only: Collection[str], skip: Collection[str]) -> tuple[Setting, ...]:
    """The settings of the sections in `only` (all when empty) and not in `skip`."""
    return tuple(s for s in settings if (not only or s.section in only) and s.section not in skip)


def compose(parts: Iterable[tuple[Part, Sequence[Setting]]]) -> tuple[Setting, ...]:
    """What several parts want together, of each what it chose; on one target the later part wins."""
    merged: dict[Target | SettingId, Setting] = {}
    where: dict[SettingId, Target | SettingId] = {}
    for part, settings in parts:
        for setting in chosen(settings, part.only, part.skip):
            place = _place(setting)
            if where.get(setting.id, place) != place:
                del merged[where[setting.id]]
            if place in merged:
                del where[merged[place].id]
            merged[place], where[setting.id] = setting, place
    return tuple(merged.values())


def added(parts: Sequence[Part], new: Part) -> tuple[Part, ...]:
    """The parts with a new one, which takes the place of an earlier one of the same profiles and sections."""
    key = (new.names, new.only, new.skip)
    return (*(part for part in parts if (part.names, part.only, part.skip) != key), new)


def laid_over(old: Iterable[AppliedRow], settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """What the set wants when only some sections were applied: the old rows, and the new settings in their place.

    Nothing is dropped, because nothing was released, but what makes the old rows persist: that is made anew for all.
    """
    ids, places = {s.id for s in settings}, {_place(s) for s in settings}
    kept = (row.setting for row in old if row.setting.section != PERSIST)
    return (*(s for s in kept if s.id not in ids and _place(s) not in places), *settings)


def rows(
    settings: Iterable[Setting],
    after: Iterable[Change],
    outcomes: Mapping[SettingId, Outcome],
    old: AppliedSet | None,
    boot_id: str,
) -> tuple[AppliedRow, ...]:
    """Each wanted setting with how this apply left it.

    after     the plan once everything was written, of the settings that this apply was about; the others keep what
              the old set knows of them
    outcomes  of what was written: a refusal is seen nowhere else
    """
    seen = {change.setting.id: change for change in after}
    known = {row.setting.id: row for row in old.rows} if old else {}
    made = []
    for setting in settings:
        before, change, outcome = known.get(setting.id), seen.get(setting.id), outcomes.get(setting.id)
        if change is None:
            made.append(AppliedRow(setting, before.last if before else None, before.remembered if before else None))
            continue
        kept = before.remembered if before and _still_true(before.remembered, setting, boot_id) else None
        made.append(AppliedRow(setting, _last(change, outcome), learned(setting, outcome, boot_id) or kept))
    return tuple(made)


def still_owed(
    changes: Iterable[Change], released: Collection[str], outcomes: Mapping[SettingId, Outcome]
) -> tuple[Setting, ...]:
    """What was to be given back (the rows in `released`) and was not: it is offered again by the next apply."""
    rows = [change for change in changes if change.setting.id in released and change.status is Status.DRIFTED]
    came = {sid: outcome.status for sid, outcome in outcomes.items()}
    return tuple(change.setting for change in rows if came.get(change.setting.id) is not Status.OK)


def remembered(applied: AppliedSet | None, boot_id: str) -> dict[SettingId, Remembered]:
    """What earlier applies learned by trying, and what this boot has not made void."""
    if applied is None:
        return {}
    return {
        row.setting.id: row.remembered for row in applied.rows if row.remembered and row.remembered.boot_id == boot_id
    }


def learned(setting: Setting, outcome: Outcome | None, boot_id: str) -> Remembered | None:
    """What trying to write it has taught: the kernel holds another value, or owns it."""
    if outcome is None or outcome.status not in _LEARNED or setting.want is None:
        return None
    return Remembered(outcome.status, setting.want, outcome.held, boot_id)


def interrupts(settings: Iterable[Setting], reader: Reader) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Of each device whose interrupts are set: "number/index" of all that it has now."""
    devices = dict.fromkeys(s.target.device for s in settings if isinstance(s.target, IrqAffinity))
    return tuple((device, tuple(_numbered(device, reader))) for device in devices)


def interrupt_names(applied: AppliedSet | None) -> dict[tuple[str, int], str]:
    """What interrupts were called at the last apply, by device and MSI index: the kernel forgets it with the link."""
    targets = (setting.target for setting in (applied.settings if applied else ()))
    return {(one.device, one.index): one.label for one in targets if isinstance(one, IrqAffinity) and one.label}


def made(  # noqa: PLR0913  # the stored set has that many origins
    parts: tuple[Part, ...],
    rows: tuple[AppliedRow, ...],
    reader: Reader,
    *,
    boot_id: str,
    fingerprint: str,
    who: str,
    why: str = "",
    run: int = 0,
    owed: tuple[Setting, ...] = (),
    program: tuple[str, ...] = (),
) -> AppliedSet:
    """A set as it is stored now. `run`: the newest run."""
    return AppliedSet(
        parts=parts,
        rows=rows,
        boot_id=boot_id,
        fingerprint=fingerprint,
        interrupts=interrupts((row.setting for row in rows), reader),
        when=when.stamp(),
        who=who,
        why=why,
        run=run,
        version=__version__,
        owed=owed,
        program=program,
    )


def keep_before(runs: str, run: int, applied: AppliedSet | None) -> None:
    """Store the set that is there before a run begins to write. Raises TrustError, StateError."""
    trust.check(runs)  # the first file of a run: nothing is written into a folder of somebody else's
    store.save(_before(runs, run), AppliedSet((), (), "", "") if applied is None else applied)


def before(runs: str, run: int) -> AppliedSet | None:
    """The set that was there before a run, one without parts where nothing was applied; None when that is not known.

    Raises TrustError, StateError.
    """
    return store.load(_before(runs, run), AppliedSet)


def bring_back(runs: str, run: int, path: str) -> None:
    """Make the set that was there before a run the applied set again, which needs no room; also a second time.

    Where that set is not known the applied set stays as it is. Raises TrustError, StateError.
    """
    kept = before(runs, run)
    if kept is None:
        return
    store.unreserve(path)
    if kept.parts:
        store.put_back(_before(runs, run), path)
    else:
        store.remove(path)


def forget_before(runs: str) -> None:
    """Drop what was kept for runs whose journal is gone."""
    names = set(os.listdir(runs)) if os.path.isdir(runs) else set()  # noqa: PTH112, PTH208  # pathlib costs a start-up
    for name in names:
        if name.endswith(_KEPT) and name.removesuffix(_KEPT) + ".jsonl" not in names:
            with contextlib.suppress(OSError):
                os.unlink(f"{runs}/{name}")  # noqa: PTH108  # as above


def _before(runs: str, run: int) -> str:
    return f"{runs}/{run:06}{_KEPT}"


def _place(setting: Setting) -> Target | SettingId:
    """What two settings cannot share."""
    return setting.id if isinstance(setting.target, Nothing) else setting.target


def _last(change: Change, outcome: Outcome | None) -> LastSeen:
    held = change.seen.text
    if outcome is None or change.status is Status.OK:
        return LastSeen(change.status, held, change.reason)
    return LastSeen(outcome.status, held, outcome.reason or change.reason)


def _still_true(known: Remembered | None, setting: Setting, boot_id: str) -> bool:
    return known is not None and known.boot_id == boot_id and known.want == setting.want


def _numbered(device: str, reader: Reader) -> list[str]:
    """The interrupts of one device, each with its MSI index: /sys/kernel/irq/N/hwirq & 0x7ff."""
    found = []
    for number in reader.names(f"/sys/bus/pci/devices/{device}/msi_irqs"):
        index = irq.msi_index(number, reader)
        found.append(number if index is None else f"{number}/{index}")
    return found
