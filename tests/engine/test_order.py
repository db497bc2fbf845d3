"""The order of writing: phases, what is needed, outer and inner, the same forwards and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.forty import sysctl
from hypothesis import given
from hypothesis import strategies as st

from numatune.engine.order import order
from numatune.engine.restore import returning
from numatune.errors import ProfileError
from numatune.settings.codecs import Choice, CpuList, Text
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import Cgroup, KernelFile, OwnedFile, UnitState


def ids(changes: tuple[Change, ...]) -> list[str]:
    return [change.setting.id for change in changes]


def change(setting: Setting, action: Action = Action.UPDATE, have: str | None = None, *writes: str) -> Change:
    return Change(setting, Observation(have), Status.DRIFTED, action, writes)


def group(path: str, **fields: object) -> Setting:
    return Setting(
        id=SettingId(path),
        target=Cgroup(path),
        codec=Choice(),
        want="here",
        phase=Phase.CGROUP,
        section="c",
        **fields,  # type: ignore[arg-type]
    )


def cpuset(name: str, inside: str = "", **fields: object) -> Setting:
    return Setting(
        id=SettingId(name),
        target=KernelFile((f"{name}/cpuset.cpus",)),
        codec=CpuList(),
        want="0",
        phase=Phase.CGROUP,
        section="c",
        inside=SettingId(inside) if inside else None,
        **fields,  # type: ignore[arg-type]
    )


def unit(aspect: str, phase: Phase) -> Setting:
    return Setting(
        id=SettingId(aspect),
        target=UnitState("tuned.service", aspect),  # type: ignore[arg-type]
        codec=Choice(),
        want="x",
        phase=phase,
        section="services",
    )


def file(path: str, **fields: object) -> Setting:
    return Setting(
        id=SettingId(path),
        target=OwnedFile(path),
        codec=Text(),
        want="x",
        phase=Phase.FILES,
        section="f",
        **fields,  # type: ignore[arg-type]
    )


def test_phases_in_their_order_and_within_one_the_places_that_they_had():
    phases = [Phase.IRQ, Phase.SYSCTL, Phase.RECLAIM, Phase.THP, Phase.SYSCTL, Phase.QUIET, Phase.RESUME]
    rows = [change(sysctl(f"vm.k{number}", "1", phase=phase)) for number, phase in enumerate(phases)]
    assert ids(order(rows)) == [f"sysctl:vm.k{number}" for number in (5, 1, 4, 3, 2, 0, 6)]


def test_what_is_needed_comes_first_whatever_its_phase():
    late = sysctl("a", "1", phase=Phase.IRQ)
    early = sysctl("b", "1", after=(late.id,))
    needs = sysctl("c", "1", needs=early.id)
    assert ids(order([change(needs), change(early), change(late)])) == [late.id, early.id, needs.id]


@pytest.mark.parametrize(
    ("have", "want", "expected"),
    [("0-1", "0-3", ["a", "b"]), ("0-3", "0-1", ["b", "a"]), ("0-1", "2-3", ["b", "a"])],
)
def test_the_outer_set_grows_first_and_shrinks_last(have: str, want: str, expected: list[str]):
    rows = [change(cpuset("a"), Action.UPDATE, have, want), change(cpuset("b", inside="a"), Action.UPDATE, have, want)]
    assert ids(order(rows)) == expected
    assert ids(order(rows[::-1])) == expected


def test_an_outer_set_that_stays_or_is_new_orders_nothing():
    for outer in (change(cpuset("a"), Action.UPDATE, "0-1", "0-1"), change(cpuset("a"), Action.UPDATE, None, "0-1")):
        assert ids(order([change(cpuset("b", inside="a")), outer])) == ["b", "a"]


def test_groups_are_made_outermost_and_deleted_innermost_first():
    paths = ["/c/a/b/d", "/c/a", "/c/a/b"]
    assert ids(order([change(group(path), Action.CREATE) for path in paths])) == ["/c/a", "/c/a/b", "/c/a/b/d"]
    gone = [Action.DELETE, Action.RELEASE]
    for action in gone:
        rows = [change(replace(group(path), want=None), action) for path in paths]
        assert ids(order(rows)) == ["/c/a/b/d", "/c/a/b", "/c/a"]


def test_what_is_in_a_group_or_was_needed_for_it_waits_until_it_is_deleted():
    control = sysctl("control", "1", phase=Phase.CGROUP)
    rows = [change(control), change(group("/c/a", after=(control.id,)), Action.DELETE)]
    assert ids(order(rows)) == ["/c/a", control.id]
    rows[1] = change(group("/c/a", after=(control.id,)), Action.CREATE)
    assert ids(order(rows)) == [control.id, "/c/a"]


def test_a_file_that_goes_away_is_gone_before_what_comes_after_it_unless_that_goes_too():
    drop_in, start = file("/drop-in"), replace(unit("active", Phase.RESUME), after=(SettingId("/drop-in"),))
    assert ids(order([change(start), change(drop_in, Action.DELETE)])) == ["/drop-in", "active"]
    second = file("/second", after=(drop_in.id,))
    assert ids(order([change(drop_in, Action.DELETE), change(second, Action.DELETE)])) == ["/second", "/drop-in"]


def test_a_unit_is_stopped_before_it_is_masked_and_unmasked_before_it_is_started():
    aspects = ["masked", "active", "enabled"]
    stopping = order([change(unit(aspect, Phase.QUIET)) for aspect in aspects])
    assert ids(stopping) == ["active", "enabled", "masked"]
    back = order([replace(row, setting=returning(row.setting, "before")) for row in stopping])
    assert ids(back) == ["masked", "enabled", "active"]
    assert {row.setting.phase for row in back} == {Phase.RESUME}


def test_settings_that_wait_for_each_other_are_an_error_that_names_them():
    rows = [
        change(sysctl("a", "1", after=(SettingId("sysctl:b"),))),
        change(sysctl("b", "1", needs=SettingId("sysctl:a"))),
    ]
    with pytest.raises(ProfileError, match=r"sysctl:[ab] before sysctl:[ab] before sysctl:[ab]"):
        order(rows)


def test_one_that_waits_for_what_is_not_there_does_not_wait():
    assert ids(order([change(sysctl("a", "1", after=(SettingId("x"),), needs=SettingId("y")))])) == ["sysctl:a"]


@given(st.data())
def test_every_edge_is_kept_and_nothing_is_lost(data: st.DataObject):
    size = data.draw(st.integers(1, 12))
    names = [SettingId(f"sysctl:{number}") for number in range(size)]
    rows = [
        change(
            sysctl(
                str(number),
                "1",
                phase=data.draw(st.sampled_from(Phase)),
                after=tuple(data.draw(st.sets(st.sampled_from(names[:number])))) if number else (),
            )
        )
        for number in range(size)
    ]
    shuffled = data.draw(st.permutations(rows))
    ordered = order(shuffled)
    place = {row.setting.id: number for number, row in enumerate(ordered)}
    assert sorted(ids(ordered)) == sorted(names)
    assert all(place[before] < place[row.setting.id] for row in rows for before in row.setting.after)
    assert order(ordered) == ordered
    assert order(shuffled) == ordered
