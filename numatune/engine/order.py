"""The order of writing, the same forwards and back. Pure and stable: what nothing tells apart keeps its place."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from numatune.errors import Problem, ProfileError
from numatune.settings.model import Phase, SettingId
from numatune.settings.plan import Action, Change
from numatune.settings.targets import PLACES, Cgroup, KernelFile, OwnedFile, UnitState

_STOPPING = {"active": 0, "enabled": 1, "masked": 2}


def order(changes: Sequence[Change]) -> tuple[Change, ...]:
    """By phase; what is needed first; outer before inner when growing, inner before outer when shrinking.

    Cgroups are deleted innermost first, after what is in them. Raises ProfileError when settings wait for each other.
    """
    by_id = {change.setting.id: change for change in changes}
    place = {change.setting.id: number for number, change in enumerate(changes)}
    graph: TopologicalSorter[SettingId] = TopologicalSorter(dict.fromkeys(by_id, ()))
    for first, then in (
        *_needed(by_id),
        *_nested(by_id),
        *_aspects(changes),
        *_unit_files(changes),
        *_folders(changes),
    ):
        graph.add(then, first)
    try:
        graph.prepare()
    except CycleError as error:
        circle = " before ".join(error.args[1])
        problem = Problem(error.args[1][0], f"cannot be put in order: {circle}")
        raise ProfileError((problem,)) from error
    out: list[Change] = []
    ready: list[tuple[Phase, int, SettingId]] = []
    while graph.is_active():
        for sid in graph.get_ready():
            heapq.heappush(ready, (by_id[sid].setting.phase, place[sid], sid))
        _, _, sid = heapq.heappop(ready)
        out.append(by_id[sid])
        graph.done(sid)
    return tuple(out)


Edge = tuple[SettingId, SettingId]


def _needed(by_id: dict[SettingId, Change]) -> Iterator[Edge]:
    """`needs` and `after`; turned round where a cgroup goes away, and between two deletions."""
    for change in by_id.values():
        setting = change.setting
        for sid in (*setting.after, *([setting.needs] if setting.needs else [])):
            if before := by_id.get(sid):
                yield (setting.id, sid) if _turned(change, before) else (sid, setting.id)


def _turned(change: Change, before: Change) -> bool:
    deleting = [one for one in (change, before) if one.action is Action.DELETE or _released(one)]
    return len(deleting) > 1 or any(isinstance(one.setting.target, PLACES) for one in deleting)


def _released(change: Change) -> bool:
    return change.action is Action.RELEASE and change.setting.want is None


def _nested(by_id: dict[SettingId, Change]) -> Iterator[Edge]:
    """Sets that stay within one another."""
    for change in by_id.values():
        setting = change.setting
        outer = by_id.get(setting.inside) if setting.inside else None
        if outer is None or not outer.writes or outer.seen.text is None:
            continue
        try:
            grows = outer.setting.codec.grows(outer.seen.text, outer.writes[-1])
        except ValueError:
            grows = None
        if grows is not None:
            yield (outer.setting.id, setting.id) if grows else (setting.id, outer.setting.id)


def _aspects(changes: Iterable[Change]) -> Iterator[Edge]:
    """A unit is stopped, disabled, then masked; unmasked, enabled, then started."""
    units: dict[str, list[tuple[int, Change]]] = {}
    for change in changes:
        if isinstance(target := change.setting.target, UnitState):
            units.setdefault(target.unit, []).append((_STOPPING[target.aspect], change))
    for aspects in units.values():
        starting = any(change.setting.phase is Phase.RESUME for _, change in aspects)
        ranked = sorted(aspects, key=lambda ranked: ranked[0], reverse=starting)
        for (_, first), (_, then) in pairwise(ranked):
            yield first.setting.id, then.setting.id


def _unit_files(changes: Sequence[Change]) -> Iterator[Edge]:
    """Units whose files are ours: all files are there before one is enabled or started, and go after all of that."""
    files = {
        change.setting.target.path.rpartition("/")[2]: change
        for change in changes
        if isinstance(change.setting.target, OwnedFile) and change.setting.target.reload
    }
    states = [c for c in changes if isinstance(c.setting.target, UnitState) and c.setting.target.unit in files]
    for file in files.values():
        for state in states:
            first, then = (state, file) if file.action is Action.DELETE or _released(file) else (file, state)
            yield first.setting.id, then.setting.id


def _folders(changes: Sequence[Change]) -> Iterator[Edge]:
    """Cgroups: the outer is made before, and deleted after, the inner.

    What goes away goes before the files of the groups around it are written: v1 keeps a parent from having less than
    its child (EBUSY), however empty that is, and no controller is taken from a group that still has one inside.
    """
    groups = {change.setting.target.path: change for change in changes if isinstance(change.setting.target, Cgroup)}
    for path, change in groups.items():
        outer = groups.get(path.rpartition("/")[0])
        away = change.action is Action.DELETE or _released(change)
        if outer is not None:
            first, then = (change, outer) if away else (outer, change)
            yield first.setting.id, then.setting.id
        for other in changes if away else ():
            target = other.setting.target
            if isinstance(target, KernelFile) and path.startswith(f"{target.paths[0].rpartition('/')[0]}/"):
                yield change.setting.id, other.setting.id
