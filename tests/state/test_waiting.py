"""``apply --confirm-within`` where something goes wrong on the way: no timer is left that takes another run back."""

from __future__ import annotations

import errno
import json
from itertools import count
from pathlib import Path

import jsonschema
import pytest
from fakes.commands import lend, typed
from fakes.kernel import Behaviour, FakeKernel
from fakes.kills import life
from fakes.refusals import Refuses
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune.compat import override
from numatune.engine.journal import FileJournal
from numatune.host.protocol import Ran
from numatune.views import plan_json

SWAPPINESS = "/proc/sys/vm/swappiness"
WAITING = ("apply", "p.yaml", "--yes", "--confirm-within", "10m")


class Timers(Behaviour):
    """systemd's transient timers, whose names are the fact "timers"."""

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        timers = set(kernel.facts.get("timers", "").split())
        match argv:
            case ("systemd-run", *rest):
                unit = next(word.partition("=")[2] for word in rest if word.startswith("--unit="))
                if f"{unit}.timer" in timers:
                    return Ran(1, "", f"Unit {unit}.timer was already loaded.\n")
                kernel.facts["timers"] = " ".join(sorted(timers | {f"{unit}.timer"}))
                return Ran(0)
            case ("systemctl", "is-active", "--quiet", name):
                return Ran(0 if name in timers else 3)
            case ("systemctl", "stop", *names):
                kernel.facts["timers"] = " ".join(sorted(timers - set(names)))
                return Ran(0 if set(names) <= timers else 5, "", "Unit not loaded.\n")
            case _:
                return None


def timers(kernel: FakeKernel) -> list[str]:
    return kernel.facts.get("timers", "").split()


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    made = FakeKernel({**host_tree(), "/run/systemd/system/": ""}, behaviours=(Timers(), *USUAL))
    lend(made, tmp_path, monkeypatch)
    (tmp_path / "p.yaml").write_text("name: p\nsysctl: {vm.swappiness: 10}\n")
    (tmp_path / "q.yaml").write_text("name: q\nsysctl: {vm.swappiness: 20}\n")
    return made


@pytest.mark.usefixtures("kernel")
def test_a_report_for_programs_tells_until_when_to_confirm() -> None:
    report = typed(*WAITING, "--json").json
    jsonschema.validate(report, json.loads(plan_json.schema()))
    confirmed = typed("confirm", "--json").json
    assert (report["run"], report["confirm_until"]) == (confirmed["run"], confirmed["until"])
    assert typed("apply", "q.yaml", "--yes", "--json").json["confirm_until"] is None


def test_a_run_that_waits_keeps_others_away_until_it_is_confirmed(kernel: FakeKernel) -> None:
    assert typed(*WAITING).code == 0
    assert timers(kernel) == ["numatune-confirm-1.timer"]
    refused = typed("apply", "q.yaml", "--yes")
    assert refused.code == 1
    assert "run 1 waits to be confirmed until" in refused.err
    assert "numatune rollback --run 1 takes it back" in refused.err
    assert typed("confirm").out == "Run 1 is kept.\n"
    assert timers(kernel) == []
    assert typed("confirm").code == 1
    assert typed("apply", "q.yaml", "--yes").code == 0


def test_a_rollback_by_hand_ends_the_wait(kernel: FakeKernel) -> None:
    typed(*WAITING)
    assert typed("rollback", "--yes").code == 0
    assert timers(kernel) == []
    assert "run 1: was rolled back at" in typed("confirm").err
    assert typed("apply", "q.yaml", "--yes").code == 0


def test_a_run_that_changed_nothing_has_nothing_to_wait_for(kernel: FakeKernel) -> None:
    kernel.behaviours = (Refuses(SWAPPINESS, 22), *kernel.behaviours)
    done = typed(*WAITING)
    assert done.code == 2
    assert "taken back at" not in done.err
    assert timers(kernel) == []
    assert "no run waits to be confirmed" in typed("confirm").err
    assert typed("apply", "q.yaml", "--yes").code == 2


def test_nothing_to_do_arms_no_timer(kernel: FakeKernel) -> None:
    typed("apply", "p.yaml", "--yes")
    assert typed(*WAITING).code == 0
    assert timers(kernel) == []


def test_all_or_nothing_leaves_no_timer(kernel: FakeKernel) -> None:
    kernel.behaviours = (Refuses("/proc/sys/vm/stat_interval", 22), *kernel.behaviours)
    Path("p.yaml").write_text("name: p\nsysctl: {vm.swappiness: 10, vm.stat_interval: 7}\n")
    assert typed(*WAITING, "--on-error", "rollback").code == 1
    assert timers(kernel) == []
    assert kernel.files[SWAPPINESS] == "60\n"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_journal_that_cannot_be_written_leaves_no_timer_and_no_trace(
    error: BaseException, kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        assert timers(kernel) == ["numatune-confirm-1.timer"]
        raise error

    monkeypatch.setattr(FileJournal, "_opened", fail)
    done = typed(*WAITING)
    assert done.code == (1 if isinstance(error, OSError) else 130)
    assert timers(kernel) == []
    assert [path.name for path in (tmp_path / "state").rglob("*") if path.is_file()] == []
    assert kernel.files[SWAPPINESS] == "60\n"


def test_a_timer_that_cannot_start_leaves_no_trace(kernel: FakeKernel, tmp_path: Path) -> None:
    kernel.facts["timers"] = "numatune-confirm-1.timer"
    done = typed(*WAITING)
    assert done.code == 1
    assert "no timer could be started: Unit numatune-confirm-1.timer was already loaded." in done.err
    assert [path.name for path in (tmp_path / "state").rglob("*") if path.is_file()] == []
    assert kernel.files[SWAPPINESS] == "60\n"


def test_a_kill_at_any_step_leaves_no_timer_for_a_later_run(
    kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timer of a run that never began would take the next run of that number back."""
    for left in count():
        one, folder = kernel.copy(), tmp_path / f"{left}"
        folder.mkdir()
        for name in ("p.yaml", "q.yaml"):
            (folder / name).write_text((tmp_path / name).read_text())
        lend(one, folder, monkeypatch)
        with life(left, one, monkeypatch) as lived:
            typed(*WAITING)
        if not lived.died:
            break
        cut_off = "cut off" in typed("history").err
        after = typed("apply", "q.yaml", "--yes")
        if after.code == 0:
            assert timers(one) == []
            assert not cut_off
            assert one.files[SWAPPINESS] == "20\n"
        else:
            assert "run 1 waits to be confirmed until" in after.err
            assert timers(one) == ["numatune-confirm-1.timer"]
            assert typed("rollback", "--yes").code == 0
            assert timers(one) == []
            assert one.files[SWAPPINESS] == "60\n"
    assert left > 20
