"""A saved plan is carried out only on a host that has not moved. On a fake kernel."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.rows import owned_file, sysctl, thp

from numatune.engine import saved
from numatune.engine.diff import Options, diff
from numatune.engine.observe import flat, observe
from numatune.errors import MovedError, StateError, TrustError
from numatune.settings.applied import Part, SavedPlan
from numatune.settings.codecs import Size
from numatune.settings.model import Impact, NotBelow, Setting
from numatune.settings.plan import Action, HostInfo, Plan, ProfileInfo, Remembered, Status

HOST = HostInfo("/", "6.18", "x86_64", "0", "0-1", "boot", "print")
NOW = saved.Now(boot_id="boot", fingerprint="print", newest_run=3)
INFO = ProfileInfo("p", "1", "abc")
SWAPPINESS = "/proc/sys/vm/swappiness"
SETTINGS = flat(
    (
        sysctl("vm.swappiness", "10"),
        thp("always", impact=Impact.NEW_PROCESSES),
        sysctl("vm.limit", "8192", codec=Size(), guard=NotBelow("/used")),
    )
)


@pytest.fixture
def kernel() -> FakeKernel:
    return FakeKernel(
        {
            SWAPPINESS: "60\n",
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "/proc/sys/vm/limit": "65536\n",
            "/used": "4096\n",
        }
    )


def plan_of(kernel: FakeKernel, *more: Setting) -> SavedPlan:
    settings = (*SETTINGS, *more)
    changes = diff(settings, observe(settings, kernel), Options())
    return SavedPlan(Plan((INFO,), HOST, changes), (Part((INFO,), (("p.yaml", "name: p\n"),)),), since=3)


def moved(kernel: FakeKernel, plan: SavedPlan, **now: str) -> str:
    with pytest.raises(MovedError) as caught:
        saved.check(plan, kernel, replace(NOW, **now))
    return str(caught.value)


def test_a_saved_plan_is_the_plan_again(kernel: FakeKernel, tmp_path: Path) -> None:
    file, plan = str(tmp_path / "plan.json"), plan_of(kernel)
    saved.save(file, plan)
    assert saved.load(file) == plan
    saved.check(saved.load(file), kernel, NOW)


def test_a_value_that_moved_is_named_with_both_values(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    kernel.put(SWAPPINESS, "30\n")
    assert "sysctl:vm.swappiness: held '60' when the plan was saved, holds '30' now" in moved(kernel, plan)


def test_a_value_that_is_spelled_differently_has_not_moved(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    kernel.put(SWAPPINESS, "60 \n")
    saved.check(plan, kernel, NOW)


def test_a_thing_that_went_or_came_has_moved(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    kernel.remove(SWAPPINESS)
    assert "held '60' when the plan was saved, holds nothing now" in moved(kernel, plan)


def test_a_folder_that_somebody_made_for_a_file_of_ours_has_moved_nothing(kernel: FakeKernel) -> None:
    plan = plan_of(kernel, owned_file("/etc/folder/ours", "text\n"))
    kernel.put("/etc/folder/", "")
    saved.check(plan, kernel, NOW)
    kernel.put("/etc/folder/ours", "theirs\n")
    assert "file:/etc/folder/ours: held nothing when the plan was saved" in moved(kernel, plan)


def test_all_that_moved_is_told_at_once(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    kernel.put(SWAPPINESS, "30\n")
    lines = moved(kernel, plan, boot_id="other", fingerprint="other").splitlines()
    assert len(lines) == 4
    assert "restarted" in lines[0]
    assert "nodes, CPUs" in lines[1]
    assert "make the plan again" in lines[3]


def test_another_run_since_is_a_move(kernel: FakeKernel) -> None:
    with pytest.raises(MovedError, match="run 4 came after"):
        saved.check(plan_of(kernel), kernel, replace(NOW, newest_run=4))


def test_a_guard_that_speaks_up_now_is_a_move(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    kernel.put("/used", "16384\n")
    assert "sysctl:vm.limit: would be handled in another way now: none" in moved(kernel, plan)


def test_a_thing_with_another_identity_has_moved(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    first, *rest = plan.plan.changes
    renumbered = replace(first, seen=replace(first.seen, identity="57"))
    plan = replace(plan, plan=replace(plan.plan, changes=(renumbered, *rest)))
    assert "was 57, is gone now" in moved(kernel, plan)


def test_what_was_learned_since_is_a_move(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    setting = SETTINGS[0]
    learned = {setting.id: Remembered(Status.CLAMPED, "10", "60\n", "boot")}
    with pytest.raises(MovedError, match="another way"):
        saved.check(plan, kernel, replace(NOW, remembered=learned))


def test_rows_that_give_something_back_are_looked_at_too(kernel: FakeKernel) -> None:
    plan = plan_of(kernel)
    back = sysctl("vm.dirty", "20")
    kernel.put("/proc/sys/vm/dirty", "5\n")
    (row,) = diff((back,), observe((back,), kernel), Options())
    plan = replace(plan, plan=replace(plan.plan, changes=(*plan.plan.changes, replace(row, action=Action.RELEASE))))
    saved.check(plan, kernel, NOW)
    kernel.put("/proc/sys/vm/dirty", "6\n")
    assert "sysctl:vm.dirty: held '5'" in moved(kernel, plan)


def test_a_plan_of_a_newer_numatune_is_refused_by_name(kernel: FakeKernel, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    saved.save(str(file), plan_of(kernel))
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "format": 3, "numatune": "9.9"}), encoding="utf-8")
    with pytest.raises(StateError, match=r"format 3, written by numatune 9\.9"):
        saved.load(str(file))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1, "numatune": "1", "holds": {"@": "Ready"}}'])
def test_what_is_no_plan_is_an_error_of_its_own(text: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(StateError, match=r"plan\.json"):
        saved.load(str(file))


def test_a_plan_that_others_can_write_is_not_carried_out(kernel: FakeKernel, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    saved.save(str(file), plan_of(kernel))
    file.chmod(0o666)
    with pytest.raises(TrustError):
        saved.load(str(file))


def test_no_plan_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="--out"):
        saved.load(str(tmp_path / "absent.json"))
