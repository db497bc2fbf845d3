"""The rollback plan: the originals as wanted values, for everything that is still ours. Pure."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, replace

from numatune.engine.drift import outlives_reboot
from numatune.engine.fold import ours
from numatune.engine.kinds.owned_file import made_for
from numatune.engine.order import order
from numatune.settings.codecs import agree, alike, shown
from numatune.settings.journal import Owned
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import PLACES, OwnedFile, UnitState

_TURNED = {Phase.QUIET: Phase.RESUME, Phase.FILES: Phase.RESUME, Phase.RESUME: Phase.QUIET}
"""What keeps others off comes first and goes last: units that stop, files that tell one that runs what to leave."""

_GONE = frozenset({0, errno.ENOENT, errno.ENOTDIR, errno.ENODEV})


@dataclass(frozen=True, slots=True)
class Spared:
    """A setting that a rollback leaves as it is, and why."""

    id: SettingId
    reason: str


def restore(
    ledger: Mapping[SettingId, Owned], seen: Mapping[SettingId, Observation], boot_id: str
) -> tuple[tuple[Change, ...], tuple[Spared, ...]]:
    """What to write to give everything back, in order, and what is spared.

    Rows without an action are at their original already; they are watched, because a partner's write may move them.
    Of a boot before this one only what outlives a reboot is taken back: the kernel has reset the rest itself. A unit
    that did not start because it was taken out of the boot is such a one.
    """
    made = {
        owned.setting.id for owned in ledger.values() if _was_made(owned) and isinstance(owned.setting.target, PLACES)
    }
    kept_down = _kept_down(ledger, seen)
    folders = _folders_made(ledger)
    changes: list[Change] = []
    spared: list[Spared] = []
    for sid, owned in ledger.items():
        if owned.boot_id != boot_id and not outlives_reboot(owned.setting.target) and sid not in kept_down:
            continue
        if owned.setting.needs in made and not isinstance(owned.setting.target, PLACES):
            continue  # goes away with its cgroup
        maker = ledger.get(owned.setting.needs) if owned.setting.needs else None
        match _give_back(owned, seen[sid], maker):
            case Change() as change:
                changes.append(_with_its_folders(change, folders))
            case str() as reason:
                spared.append(Spared(sid, reason))
            case None:
                pass
    return order(changes), tuple(spared)


def returning(setting: Setting, original: str | None) -> Setting:
    """The setting with its original as what is wanted. What was stopped, or kept away, first is let back in last."""
    phase = setting.phase
    if isinstance(setting.target, UnitState | OwnedFile):
        phase = _TURNED.get(phase, phase)
    after = () if isinstance(setting.target, UnitState) else setting.after
    return replace(setting, want=original, phase=phase, after=after, guard=None)


def _kept_down(ledger: Mapping[SettingId, Owned], seen: Mapping[SettingId, Observation]) -> set[SettingId]:
    """Whether a unit runs, of those that still do not start at boot because of what the ledger holds."""
    units = [(sid, one, one.setting.target) for sid, one in ledger.items() if isinstance(one.setting.target, UnitState)]
    out_of_the_boot = {
        target.unit
        for sid, owned, target in units
        if outlives_reboot(target) and not alike(owned.setting.codec, owned.original, seen[sid].text)
    }
    return {sid for sid, _, target in units if target.aspect == "active" and target.unit in out_of_the_boot}


def _folders_made(ledger: Mapping[SettingId, Owned]) -> frozenset[str]:
    """Those that were not there before files of ours were put into them."""
    files = [(owned.setting.target, owned.identity) for owned in ledger.values() if _was_made(owned)]
    return frozenset(
        folder for file, there in files if isinstance(file, OwnedFile) for folder in made_for(file.path, there)
    )


def _with_its_folders(change: Change, made: frozenset[str]) -> Change:
    """A file that goes takes the folders that were made for it along, or for another one that may go before it."""
    target = change.setting.target
    if change.action is not Action.DELETE or not isinstance(target, OwnedFile):
        return change
    there = target.path.rpartition("/")[0]
    while there in made:
        there = there.rpartition("/")[0]
    return replace(change, seen=replace(change.seen, identity=there or "/"))


def again(change: Change, now: Observation, *, by_us: bool) -> Change:
    """A row of a rollback whose value is no longer as planned. `by_us`: a partner's write, just now, explains that."""
    setting = change.setting
    if now.text is None:
        return replace(change, seen=now, status=Status.UNSUPPORTED, action=Action.NONE, writes=(), reason="it is gone")
    if setting.want is not None and agree(setting.codec, setting.want, now.text):
        return replace(change, seen=now, status=Status.OK, action=Action.NONE, writes=())
    if by_us and setting.want is not None:
        action = change.action if change.action is not Action.NONE else Action.UPDATE
        writes = setting.codec.back(setting.want, now.text)
        return replace(change, seen=now, status=Status.DRIFTED, action=action, writes=writes)
    return replace(
        change, seen=now, status=Status.DRIFTED, action=Action.NONE, writes=(), reason=_somebody(setting, now.text)
    )


def _give_back(owned: Owned, now: Observation, maker: Owned | None) -> Change | str | None:
    """The row that gives one setting back, or why it is spared, or None where nothing is left to give back.

    maker  what makes its target: a cgroup that was taken away took all that is in it along
    """
    setting = returning(owned.setting, owned.original)
    if _was_made(owned):
        return _take_away(owned, setting, now)
    if owned.original is None:
        return None  # a file that came with another one's write, and goes with it
    went = _was_released(owned) or (maker is not None and _was_released(maker))
    if went and now.text is None and now.errno in _GONE:
        return _bring_back(setting, now)
    return _set_back(owned, setting, owned.original, now)


def _set_back(owned: Owned, setting: Setting, original: str, now: Observation) -> Change | str:
    """The row of what was there before and was not taken away, or why it is spared."""
    was = f"; it was {shown(setting.codec, original)}"
    if now.text is None:
        code = errno.errorcode.get(now.errno, str(now.errno))
        return ("is gone" if now.errno in _GONE else f"cannot be read ({code})") + was
    as_it_was = agree(setting.codec, original, now.text)
    if as_it_was and not _unfinished(owned):
        return Change(setting, now, Status.OK, reason="watched")
    if setting.undo == "never" or not (as_it_was or ours(owned, now.text)):
        return "cannot be given back" + was if setting.undo == "never" else _somebody(setting, now.text)
    return Change(setting, now, Status.DRIFTED, Action.UPDATE, setting.codec.back(original, now.text), setting.impact)


def _was_made(owned: Owned) -> bool:
    """Whether it was not there before numatune made it."""
    return owned.original is None and isinstance(owned.setting.target, (*PLACES, OwnedFile))


def _was_released(owned: Owned) -> bool:
    """Whether a run took it away because a new applied set no longer wanted it: only such an entry wants nothing."""
    return owned.setting.want is None and (owned.held is None or owned.in_doubt)


def _bring_back(setting: Setting, now: Observation) -> Change:
    """Make it again; what lies in a cgroup is there once that is."""
    makes = isinstance(setting.target, (*PLACES, OwnedFile))
    writes = () if isinstance(setting.target, PLACES) else setting.codec.spell(setting.want or "", None)
    return Change(
        setting, now, Status.DRIFTED, Action.CREATE if makes else Action.UPDATE, writes, impact=setting.impact
    )


def _take_away(owned: Owned, setting: Setting, now: Observation) -> Change | str | None:
    if now.text is None:
        again_ = Change(setting, now, Status.DRIFTED, Action.DELETE, impact=setting.impact)
        return again_ if _unfinished(owned) else None
    if isinstance(setting.target, PLACES):
        if owned.identity and now.identity and owned.identity != now.identity:
            return "somebody removed it and made another of that name"
    elif not ours(owned, now.text):
        return "somebody changed it since"
    return Change(setting, now, Status.DRIFTED, Action.DELETE, impact=setting.impact)


def _unfinished(owned: Owned) -> bool:
    """Whether a write that was cut off must be done again though its text is back.

    The rest of it may be missing: of a file, that its unit is told, or that what was written beside it goes.
    """
    return owned.in_doubt and (len(owned.writes) > 1 or isinstance(owned.setting.target, OwnedFile))


def _somebody(setting: Setting, now: str) -> str:
    return f"somebody set it to {shown(setting.codec, now) or 'nothing'} since"
