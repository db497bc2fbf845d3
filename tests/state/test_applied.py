"""How the applied set is made, merged, stored and given back."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.rows import before, change, sysctl, thp
from hypothesis import given
from hypothesis import strategies as st

from numatune.engine import applied, store
from numatune.errors import StateError, TrustError
from numatune.settings.applied import AppliedRow, AppliedSet, Part
from numatune.settings.codecs import CpuList
from numatune.settings.journal import LastSeen
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Outcome, ProfileInfo, Remembered, Status
from numatune.settings.targets import IrqAffinity, Nothing

SWAPPINESS, DIRTY = sysctl("vm.swappiness", "10"), sysctl("vm.dirty_ratio", "5")


def part(name: str, **fields: tuple[str, ...]) -> Part:
    return Part((ProfileInfo(name, "1", name * 8),), ((f"{name}.yaml", f"name: {name}\n"),), **fields)


def nothing(id_: str) -> Setting:
    target = Nothing("unsupported", "no such page size")
    return replace(SWAPPINESS, id=SettingId(id_), target=target)


def outcome(setting: Setting, status: Status, held: str | None) -> Outcome:
    return Outcome(setting.id, status, "60\n", ("10",), held, reason="told")


def irq(device: str, index: int) -> Setting:
    return Setting(
        id=SettingId(f"irq:{device}/{index}"),
        target=IrqAffinity(device, index),
        codec=CpuList(),
        want="0",
        phase=Phase.IRQ,
        section="irq",
    )


def test_on_one_target_the_later_part_wins() -> None:
    higher = sysctl("vm.swappiness", "20")
    assert applied.compose([(part("a"), (SWAPPINESS, DIRTY)), (part("b"), (higher,))]) == (higher, DIRTY)


def test_two_things_that_are_not_here_for_one_reason_stay_two_rows() -> None:
    both = (nothing("hugepages:0/1G"), nothing("hugepages:1/1G"))
    assert applied.compose([(part("a"), both)]) == both


def test_a_setting_that_became_one_that_is_not_here_takes_its_place() -> None:
    gone = replace(nothing("x"), id=SWAPPINESS.id)
    assert applied.compose([(part("a"), (SWAPPINESS,)), (part("b"), (gone,))]) == (gone,)


def test_a_part_brings_the_sections_that_it_was_asked_for() -> None:
    always = thp("always")
    assert applied.compose([(part("a", only=("thp",)), (SWAPPINESS, always))]) == (always,)
    assert applied.compose([(part("a", skip=("thp",)), (SWAPPINESS, always))]) == (SWAPPINESS,)


def test_adding_the_same_profiles_again_takes_the_place_of_the_first_time() -> None:
    again = replace(part("a"), stored=(("a.yaml", "new"),))
    assert applied.added((part("a"), part("b")), again) == (part("b"), again)
    some = part("a", only=("irq",))
    assert applied.added((part("a"),), some) == (part("a"), some)


def test_applying_some_sections_drops_nothing() -> None:
    higher = sysctl("vm.swappiness", "20")
    old = (AppliedRow(SWAPPINESS), AppliedRow(thp("always")))
    assert applied.laid_over(old, (higher, DIRTY)) == (thp("always"), higher, DIRTY)


def test_a_row_remembers_what_apply_saw_and_what_only_the_write_could_tell() -> None:
    fine = change(SWAPPINESS, "10\n")
    refused = change(DIRTY, "20\n", Status.DRIFTED, Action.UPDATE)
    outcomes = {
        SWAPPINESS.id: outcome(SWAPPINESS, Status.OK, "10\n"),
        DIRTY.id: outcome(DIRTY, Status.FAILED, "20\n"),
    }
    made = applied.rows((SWAPPINESS, DIRTY), (fine, refused), outcomes, None, "boot")
    assert [row.last for row in made] == [LastSeen(Status.OK, "10\n"), LastSeen(Status.FAILED, "20\n", "told")]
    assert [row.remembered for row in made] == [None, None]


@pytest.mark.parametrize("status", [Status.CLAMPED, Status.UNCHANGEABLE])
def test_what_was_learned_by_trying_is_kept_while_it_is_true(status: Status) -> None:
    row = change(SWAPPINESS, "60\n", Status.DRIFTED, Action.UPDATE)
    first = applied.rows((SWAPPINESS,), (row,), {SWAPPINESS.id: outcome(SWAPPINESS, status, "60\n")}, None, "boot")
    learned = Remembered(status, "10", "60\n", "boot")
    assert first[0].remembered == learned
    old = AppliedSet((part("a"),), first, "boot", "print")
    assert applied.remembered(old, "boot") == {SWAPPINESS.id: learned}
    assert applied.remembered(old, "next boot") == {}
    second = applied.rows((SWAPPINESS,), (change(SWAPPINESS, "60\n", status),), {}, old, "boot")
    assert second[0].remembered == learned
    higher = sysctl("vm.swappiness", "20")
    assert applied.rows((higher,), (change(higher, "60\n"),), {}, old, "boot")[0].remembered is None
    assert applied.rows((SWAPPINESS,), (row,), {}, old, "next boot")[0].remembered is None


def test_rows_that_this_apply_was_not_about_stay_as_they_were() -> None:
    old = AppliedSet((part("a"),), (before(DIRTY, "5\n"),), "boot", "print")
    made = applied.rows((SWAPPINESS, DIRTY, thp("always")), (change(SWAPPINESS, "10\n"),), {}, old, "boot")
    assert made[1] == before(DIRTY, "5\n")
    assert made[2].last is None


def test_interrupts_are_told_by_number_and_index() -> None:
    tree = {f"/sys/bus/pci/devices/0000:41:00.0/msi_irqs/{number}": "msix\n" for number in (57, 58, 102)}
    tree |= {"/sys/kernel/irq/57/hwirq": "34078720\n", "/sys/kernel/irq/58/hwirq": "34078721\n"}
    settings = (irq("0000:41:00.0", 0), irq("0000:41:00.0", 1), irq("0000:42:00.0", 0), SWAPPINESS)
    found = applied.interrupts(settings, FakeKernel(tree))
    assert found == (("0000:41:00.0", ("57/0", "58/1", "102")), ("0000:42:00.0", ()))


def make_set() -> AppliedSet:
    row = AppliedRow(SWAPPINESS, LastSeen(Status.OK, "10\n"), Remembered(Status.CLAMPED, "10", "20\n", "boot"))
    found = (("0000:41:00.0", ("57/0",)),)
    return AppliedSet((part("a", only=("sysctl",)),), (row,), "boot", "print", found, "when", "alice", "why", 3, "0.1")


def test_the_set_is_stored_whole_and_readable_by_all(tmp_path: Path) -> None:
    file = tmp_path / "state" / "applied.json"
    assert applied.load(str(file)) is None
    applied.save(str(file), make_set())
    assert applied.load(str(file)) == make_set()
    assert file.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in file.parent.iterdir()] == ["applied.json"]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=3).map(tuple), st.text(), st.text())
def test_any_text_comes_back_as_it_was(stored: tuple[tuple[str, str], ...], why: str, held: str) -> None:
    row = AppliedRow(replace(SWAPPINESS, why=why), LastSeen(Status.OK, held))
    one = AppliedSet((replace(part("a"), stored=stored),), (row,), "boot", "print", why=why)
    text = json.dumps(store.to_data(one))
    assert store.from_data(json.loads(text), AppliedSet) == one


def test_a_newer_set_is_refused_by_name_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "applied.json"
    applied.save(str(file), make_set())
    newer = json.dumps({**json.loads(file.read_text(encoding="utf-8")), "format": 3, "numatune": "3.1"})
    file.write_text(newer, encoding="utf-8")
    with pytest.raises(StateError, match=r"format 3, written by numatune 3\.1.*use the newer numatune"):
        applied.load(str(file))
    assert file.read_text(encoding="utf-8") == newer


def test_a_set_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "applied.json"
    applied.save(str(file), make_set())
    file.chmod(0o664)
    with pytest.raises(TrustError):
        applied.load(str(file))


def test_a_set_that_cannot_be_written_is_an_error_and_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "applied.json"
    applied.save(str(file), make_set())
    (tmp_path / "blocked").write_text("", encoding="utf-8")
    with pytest.raises(StateError, match="cannot be written"):
        applied.save(str(tmp_path / "blocked" / "applied.json"), make_set())
    assert applied.load(str(file)) == make_set()


def test_the_set_of_before_a_run_comes_back_as_often_as_it_is_asked_for(tmp_path: Path) -> None:
    runs, file = str(tmp_path / "runs"), tmp_path / "applied.json"
    applied.keep_before(runs, 1, None)
    applied.keep_before(runs, 2, make_set())
    applied.save(str(file), replace(make_set(), why="another"))
    for _ in range(2):
        applied.bring_back(runs, 2, str(file))
        assert applied.load(str(file)) == make_set()
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["applied.json", "runs"]
    for _ in range(2):
        applied.bring_back(runs, 1, str(file))
        assert not file.exists()
    applied.bring_back(runs, 2, str(file))
    applied.save(str(file), replace(make_set(), why="another"))
    applied.bring_back(runs, 2, str(file))
    assert applied.load(str(file)) == make_set()


def test_where_files_have_no_second_names_the_set_of_before_comes_back_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr("os.link", no_link)
    runs, file = str(tmp_path / "runs"), tmp_path / "applied.json"
    applied.keep_before(runs, 2, make_set())
    for _ in range(2):
        applied.bring_back(runs, 2, str(file))
        assert applied.load(str(file)) == make_set()


def test_what_was_kept_for_a_run_without_a_journal_is_forgotten(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    applied.keep_before(runs, 1, None)
    applied.keep_before(runs, 2, make_set())
    applied.keep_before(runs, 1, None)
    applied.keep_before(runs, 2, make_set())
    (tmp_path / "runs" / "000002.jsonl").write_text("", encoding="utf-8")
    applied.forget_before(runs)
    assert sorted(entry.name for entry in (tmp_path / "runs").iterdir()) == ["000002.before.json", "000002.jsonl"]
