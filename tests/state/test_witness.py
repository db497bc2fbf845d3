"""The record of a clean host: whatever a look asked, when it gets another answer the record does not hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.kernel import Behaviour, FakeKernel

from numatune.compat import override
from numatune.engine import witness
from numatune.errors import TrustError
from numatune.host.protocol import Ran

Record = tuple[str, tuple[str, str]]


class Answers(Behaviour):
    """systemctl says what the fact says."""

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        return Ran(0, kernel.facts["unit"]) if argv[0] == "systemctl" else None


@pytest.fixture
def kernel() -> FakeKernel:
    tree = {
        "/proc/sys/vm/swappiness": "10\n",
        "/proc/interrupts": "57: 1\n",
        "/sys/fs/cgroup/a/cpuset.cpus": "0-1\n",
        "/sys/fs/cgroup/a/cgroup.procs": "1\n",
        "/sys/class/net/eth0": "-> /sys/devices/eth0",
        "/sys/devices/eth0/": "",
    }
    made = FakeKernel(tree, behaviours=(Answers(),))
    made.facts["unit"] = "active\n"
    return made


def look(reader: witness.Recorder) -> None:
    reader.read("/proc/sys/vm/swappiness")
    reader.read("/proc/sys/vm/absent")
    reader.read("/proc/interrupts")
    reader.names("/sys/class/net")
    reader.real("/sys/class/net/eth0")
    reader.stat("/sys/fs/cgroup/a")
    reader.stat("/proc/sys/vm/swappiness")
    reader.read("/sys/fs/cgroup/a/cgroup.procs")
    reader.ask(("systemctl", "is-active", "tuned"))


@pytest.fixture
def record(kernel: FakeKernel, tmp_path: Path) -> Record:
    """The record's file, and the state that it goes with: an applied set, and no holds."""
    recorder = witness.Recorder(kernel)
    look(recorder)
    beside, file = (str(tmp_path / "applied.json"), str(tmp_path / "holds.json")), tmp_path / "witness.json"
    Path(beside[0]).write_text("x", encoding="utf-8")
    assert witness.save(str(file), beside, recorder.answers) == 0
    return str(file), beside


def test_a_host_that_answers_the_same_is_clean(kernel: FakeKernel, record: Record) -> None:
    assert witness.holds(*record, kernel)


def nothing_moves(kernel: FakeKernel) -> None:
    kernel.put("/proc/interrupts", "57: 2\n")
    kernel.put("/sys/fs/cgroup/a/cgroup.procs", "1\n2\n")


def test_what_moves_all_the_time_does_not_matter(kernel: FakeKernel, record: Record) -> None:
    nothing_moves(kernel)
    assert witness.holds(*record, kernel)


@pytest.mark.parametrize(
    "move",
    [
        lambda kernel: kernel.put("/proc/sys/vm/swappiness", "60\n"),
        lambda kernel: kernel.remove("/proc/sys/vm/swappiness"),
        lambda kernel: kernel.put("/proc/sys/vm/absent", "1\n"),
        lambda kernel: kernel.put("/sys/class/net/eth1", "-> /sys/devices/eth0"),
        lambda kernel: kernel.put("/sys/class/net/eth0", "-> /sys/fs"),
        lambda kernel: kernel.put("/proc/sys/vm/swappiness", "10\n", mode=0o444),
        lambda kernel: (kernel.remove("/sys/fs/cgroup/a"), kernel.put("/sys/fs/cgroup/a/", "")),
        lambda kernel: kernel.facts.update(unit="inactive\n"),
    ],
)
def test_any_other_answer_means_a_real_look(
    kernel: FakeKernel, record: Record, move: Callable[[FakeKernel], object]
) -> None:
    move(kernel)
    assert not witness.holds(*record, kernel)


def test_a_record_of_another_set_does_not_hold(kernel: FakeKernel, record: Record) -> None:
    applied, holds = map(Path, record[1])
    applied.write_text("another", encoding="utf-8")  # of another length: old kernels tell time by 4 ms
    assert not witness.holds(*record, kernel)
    applied.unlink()
    assert not witness.holds(*record, kernel)
    assert not holds.exists()


def test_a_record_from_before_a_hold_does_not_hold(kernel: FakeKernel, record: Record) -> None:
    """What the last apply could not do is told once somebody holds it."""
    Path(record[1][1]).write_text("{}", encoding="utf-8")
    assert not witness.holds(*record, kernel)


def test_what_answers_twice_and_differently_in_one_look_is_no_clean_answer(kernel: FakeKernel, tmp_path: Path) -> None:
    recorder = witness.Recorder(kernel)
    recorder.read("/proc/sys/vm/swappiness")
    kernel.put("/proc/sys/vm/swappiness", "60\n")
    recorder.read("/proc/sys/vm/swappiness")
    file = str(tmp_path / "witness.json")
    witness.save(file, (), recorder.answers)
    assert not witness.holds(file, (), kernel)
    kernel.put("/proc/sys/vm/swappiness", "10\n")
    assert not witness.holds(file, (), kernel)


def test_a_record_of_another_numatune_does_not_hold(kernel: FakeKernel, record: Record) -> None:
    data = json.loads(Path(record[0]).read_text(encoding="utf-8"))
    for other in ({**data, "numatune": "0"}, {**data, "format": 0}, {**data, "answers": [["look", "/", ""]]}, [], {}):
        Path(record[0]).write_text(json.dumps(other), encoding="utf-8")
        assert not witness.holds(*record, kernel)


def test_no_record_or_a_broken_one_does_not_hold(kernel: FakeKernel, record: Record) -> None:
    Path(record[0]).write_text('{"format": 1', encoding="utf-8")
    assert not witness.holds(*record, kernel)
    Path(record[0]).unlink()
    assert not witness.holds(*record, kernel)


def test_a_record_that_others_can_write_is_not_believed(kernel: FakeKernel, record: Record) -> None:
    Path(record[0]).chmod(0o666)
    with pytest.raises(TrustError):
        witness.holds(*record, kernel)
