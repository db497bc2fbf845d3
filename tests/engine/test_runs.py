"""Runs as a stack, over real journals and a fake kernel: newest first, one and all later, all; cut off; kept."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import kills
from fakes.forty import sysctl
from fakes.kernel import FakeKernel
from fakes.refusals import Refuses
from fakes.trees import host_tree

from numatune.engine import journal, runs
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.journal import FileJournal
from numatune.engine.observe import flat, observe
from numatune.engine.restore import Spared, restore
from numatune.errors import StateError, TrustError, UsageError
from numatune.settings.journal import Ready, Repaired, RunEnd

SWAPPINESS, STAT = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval"


class Machine:
    """A host and its state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder / "runs")
        self.kernel = FakeKernel(host_tree())
        self.boot = "boot"

    @property
    def swappiness(self) -> int:
        return int(self.kernel.files[SWAPPINESS])

    def apply(self, *, killed_at: int = 0, **values: str) -> None:
        settings = flat([sysctl(f"vm.{key}", want) for key, want in values.items()])
        changes = diff(settings, observe(settings, self.kernel), Options())
        self._execute(
            lambda made: execute(changes, self.kernel, made, runs.head(self.folder, "apply", self.boot)), killed_at
        )

    def roll_back(self, since: int | None = None, *, every: bool = False, killed_at: int = 0) -> tuple[Spared, ...]:
        chosen = runs.choose(runs.listed(self.folder), since, every=every)
        ledger = fold(runs.records(chosen.runs))
        seen = observe([owned.setting for owned in ledger.values()], self.kernel, name_conflicts=False)
        changes, spared = restore(ledger, seen, self.boot)
        head = runs.head(self.folder, "rollback", self.boot, undoes=chosen.numbers)
        self._execute(
            lambda made: execute(changes, self.kernel, made, head, spared=[one.id for one in spared]),
            killed_at,
            chosen.numbers,
        )
        return spared

    def _execute(self, run: Callable[[FileJournal], object], killed_at: int, undone: Sequence[int] = ()) -> None:
        with kills.at(self.kernel, "after", number=killed_at) if killed_at else contextlib.nullcontext():
            run(FileJournal(self.folder, undone))

    @property
    def stack(self) -> list[int]:
        return [run.number for run in runs.to_take_back(runs.listed(self.folder))]


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_each_rollback_takes_back_the_newest_run_that_changed_something(machine: Machine):
    machine.apply(swappiness="10")
    machine.apply(swappiness="5", stat_interval="9")
    machine.apply(swappiness="5")
    assert machine.stack == [1, 2]
    machine.roll_back()
    assert (machine.swappiness, machine.stack) == (10, [1])
    machine.roll_back()
    assert (machine.swappiness, machine.stack) == (60, [])
    assert machine.kernel.files[STAT] == "1\n"


@pytest.mark.parametrize("how", [{"since": 1}, {"every": True}])
def test_one_run_and_all_later_ones_go_back_to_the_first_original_at_once(machine: Machine, how: dict[str, int]):
    machine.apply(swappiness="10")
    machine.apply(swappiness="5")
    machine.apply(stat_interval="9")
    machine.roll_back(**how)  # type: ignore[arg-type]
    assert (machine.swappiness, machine.stack) == (60, [])


def test_a_run_in_the_middle_leaves_the_earlier_ones(machine: Machine):
    machine.apply(swappiness="10")
    machine.apply(swappiness="5")
    machine.apply(swappiness="3")
    machine.roll_back(2)
    assert (machine.swappiness, machine.stack) == (10, [1])


@pytest.mark.parametrize(
    ("since", "found"), [(9, "there is no run 9"), (2, "run 2 is a rollback"), (1, "run 1 is taken back already")]
)
def test_what_cannot_be_taken_back_is_said_with_what_can(machine: Machine, since: int, found: str):
    machine.apply(swappiness="10")
    machine.roll_back()
    machine.apply(swappiness="5")
    with pytest.raises(UsageError, match=found) as raised:
        runs.choose(runs.listed(machine.folder), since)
    assert "can be taken back: 3" in str(raised.value)


def test_a_value_that_a_later_run_took_over_from_somebody_else_goes_back_to_that_somebody(machine: Machine):
    machine.apply(swappiness="10")
    machine.kernel.put(SWAPPINESS, "20\n")
    machine.apply(swappiness="5")
    machine.roll_back(every=True)
    assert machine.swappiness == 20


def test_ours_is_what_that_run_read_back(machine: Machine):
    machine.apply(swappiness="10")
    machine.kernel.put(SWAPPINESS, "20\n")
    machine.apply(swappiness="5")
    machine.roll_back()
    assert machine.swappiness == 20
    spared = machine.roll_back()
    assert ([one.id for one in spared], machine.swappiness, machine.stack) == (["sysctl:vm.swappiness"], 20, [])


def test_a_run_that_was_cut_off_is_found_and_taken_back(machine: Machine):
    machine.apply(swappiness="10", stat_interval="9", killed_at=1)
    found = runs.listed(machine.folder)
    assert runs.cut_off(found) == found[-1]
    assert runs.newest(machine.folder) == found[-1]
    assert machine.stack == [1]
    machine.roll_back()
    assert machine.swappiness == 60
    assert runs.cut_off(runs.listed(machine.folder)) is None


def test_a_killed_rollback_is_finished_by_the_next_one(machine: Machine):
    machine.apply(swappiness="10", stat_interval="9")
    machine.apply(swappiness="5", stat_interval="8")
    machine.roll_back(every=True, killed_at=1)
    assert machine.stack == [1, 2]
    assert runs.choose(runs.listed(machine.folder)).numbers == (1, 2), "they were to be taken back together"
    assert machine.roll_back() == ()
    assert (machine.swappiness, machine.kernel.files[STAT], machine.stack) == (60, "1\n", [])


def test_a_run_after_a_cut_off_one_and_then_all_back(machine: Machine):
    for killed_at in (1, 2, 3):
        machine.apply(swappiness="10", stat_interval="9", overcommit_memory="1", killed_at=killed_at)
        machine.apply(swappiness="5", stat_interval="8", overcommit_memory="2")
        assert machine.roll_back(every=True) == ()
        assert (machine.swappiness, machine.kernel.files[STAT], machine.stack) == (60, "1\n", [])


def test_what_was_refused_stays_on_the_stack_and_what_was_spared_in_between_stays_spared(machine: Machine):
    machine.apply(swappiness="10", stat_interval="9")
    usual = machine.kernel.behaviours
    machine.kernel.behaviours = (Refuses(STAT, errno.EBUSY), *usual)
    machine.kernel.put(SWAPPINESS, "20\n")
    machine.roll_back()
    assert machine.stack == [1]
    machine.kernel.behaviours = usual
    spared = machine.roll_back()
    assert [one.id for one in spared] == ["sysctl:vm.swappiness"]
    assert (machine.swappiness, machine.kernel.files[STAT], machine.stack) == (20, "1\n", [])


def test_after_a_reboot_an_earlier_run_is_taken_back_without_a_write(machine: Machine):
    machine.apply(swappiness="10")
    machine.boot = "another"
    del machine.kernel.log[:]
    machine.roll_back()
    assert (machine.kernel.log, machine.stack) == ([], [])


def test_heads_are_told_without_reading_all_of_a_journal(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    machine.apply(swappiness="10")
    machine.apply(stat_interval="9")
    monkeypatch.setattr(journal, "read", None)
    first, second = runs.listed(machine.folder)
    assert (first.number, second.number) == (1, 2)
    assert first.end is not None
    assert (first.end.result, first.end.changed, first.start.kind) == ("done", 1, "apply")


def test_many_repairs_after_the_end_hide_nothing(machine: Machine):
    machine.apply(swappiness="10")
    path = runs.listed(machine.folder)[0].path
    for number in range(300):
        journal.note(path, Repaired("sysctl:vm.swappiness", str(number), "20\n"))
    (run,) = runs.listed(machine.folder)
    assert run.end is not None
    assert len([record for record in runs.records([run]) if isinstance(record, Repaired)]) == 300
    machine.roll_back()
    assert machine.swappiness == 60


def test_the_newest_are_kept_and_all_that_are_still_to_be_taken_back(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runs, "KEPT", 3)
    machine.apply(stat_interval="9")
    Path(f"{machine.folder}/000077.reserve").write_bytes(b"left by a kill")
    for number in range(4):
        machine.apply(swappiness=str(number))
        machine.roll_back()
    assert runs.prune(machine.folder) == (2, 3, 4, 5, 6)
    assert [run.number for run in runs.listed(machine.folder)] == [1, 7, 8, 9]
    assert runs.prune(machine.folder) == ()
    assert [path.name for path in Path(machine.folder).glob("*.reserve")] == ["000001.reserve"]
    assert runs.next_number(machine.folder) == 10
    machine.roll_back()
    assert machine.kernel.files[STAT] == "1\n"


def test_a_run_that_never_touched_the_host_is_none(machine: Machine):
    made = FileJournal(machine.folder)
    made.append(runs.head(machine.folder, "apply", "boot"))
    made.append(Ready())
    path = Path(made.path)
    path.write_bytes(path.read_bytes().partition(b"\n")[0])
    assert runs.listed(machine.folder) == ()
    assert runs.newest(machine.folder) is None
    assert runs.next_number(machine.folder) == 2, "its number is not used again"


def test_no_folder_no_runs(tmp_path: Path):
    assert runs.listed(str(tmp_path / "none")) == ()
    assert runs.next_number(str(tmp_path / "none")) == 1
    assert runs.choose(()) == runs.Chosen((), ())


def test_what_others_could_have_written_is_refused(machine: Machine):
    machine.apply(swappiness="10")
    Path(f"{machine.folder}/000001.jsonl").chmod(0o666)
    with pytest.raises(TrustError):
        runs.listed(machine.folder)


def test_a_newer_journal_is_refused_by_the_list_too(machine: Machine):
    machine.apply(swappiness="10")
    path = Path(f"{machine.folder}/000001.jsonl")
    head, _, rest = path.read_text(encoding="ascii").partition("\n")
    path.write_text(json.dumps({**json.loads(head), "format": 7}) + "\n" + rest, encoding="ascii")
    with pytest.raises(StateError, match="format 7"):
        runs.listed(machine.folder)


def test_who_is_the_login_behind_sudo(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SUDO_USER", "alice")
    assert runs.who() == "alice"
    monkeypatch.delenv("SUDO_USER")
    assert runs.who()


def test_an_end_with_many_spared_names_is_found(machine: Machine):
    machine.apply(swappiness="10")
    path = runs.listed(machine.folder)[0].path
    records = journal.read(path)
    end = records[-1]
    assert isinstance(end, RunEnd)
    long = replace(end, spared=tuple(f"sysctl:vm.key_{number}" for number in range(2000)))
    Path(path).unlink()
    made = FileJournal(machine.folder)
    for record in (*records[:-1], long):
        made.append(record)
    assert runs.listed(machine.folder)[0].end == long
