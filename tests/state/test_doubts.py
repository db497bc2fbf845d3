"""Where what is remembered and what the host holds could part: holds that end, releases that wait, a second try."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.refusals import Refuses
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune import api

SWAPPINESS, CLUSTER = "/proc/sys/vm/swappiness", "/proc/sys/vm/page-cluster"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    made = FakeKernel({**host_tree(), CLUSTER: "3\n"})
    lend(made, tmp_path, monkeypatch)
    (tmp_path / "a.yaml").write_text("name: a\nsysctl: {vm.swappiness: 10, vm.page-cluster: 0}\n")
    (tmp_path / "b.yaml").write_text("name: b\nsysctl: {vm.page-cluster: 0}\n")
    return made


def rows(*argv: str) -> dict[str, tuple[str, bool]]:
    found = typed("drift", "--json", *argv).json
    return {row["id"].removeprefix("sysctl:vm."): (row["letters"], row["counted"]) for row in found["settings"]}


def test_what_a_hold_kept_from_being_applied_counts_once_the_hold_has_ended(kernel: FakeKernel) -> None:
    typed("apply", "b.yaml", "--yes")
    typed("hold", "--all", "--for", "4h")
    typed("apply", "a.yaml", "--yes")
    assert kernel.files[SWAPPINESS] == "60\n"
    held = typed("drift")
    assert (held.code, "held by" in held.out) == (0, True)
    typed("unhold", "--all")
    assert typed("drift").code == 2
    assert rows()["swappiness"] == (" M", True)


def test_a_hold_is_told_also_where_the_last_drift_was_clean(kernel: FakeKernel) -> None:
    kernel.behaviours = (Refuses(SWAPPINESS, errno.EINVAL), *kernel.behaviours)
    typed("apply", "a.yaml", "--yes")
    assert api.clean(kernel)
    typed("hold", "sysctl:vm.swappiness", "--for", "4h", "--why", "known")
    assert "held by" in typed("drift").out
    typed("unhold", "--all")
    assert typed("drift").out == ""


def test_a_release_that_a_hold_kept_back_is_told_by_the_bare_drift_once_it_has_ended(kernel: FakeKernel) -> None:
    typed("apply", "a.yaml", "--yes")
    typed("hold", "sysctl:vm.swappiness", "--for", "4h")
    typed("apply", "b.yaml", "--yes")
    during = typed("drift")
    assert (during.code, "held by" in during.out) == (0, True)
    typed("unhold", "--all")
    after = typed("drift")
    assert after.code == 2
    assert "no longer wanted: apply would give 60 back" in after.out
    typed("apply", "b.yaml", "--yes")
    assert kernel.files[SWAPPINESS] == "60\n"
    assert (typed("drift").code, api.clean(kernel)) == (0, True)


def test_a_release_that_somebody_overtook_is_nobodys_drift(kernel: FakeKernel) -> None:
    typed("apply", "a.yaml", "--yes")
    typed("hold", "sysctl:vm.swappiness", "--for", "4h")
    typed("apply", "b.yaml", "--yes")
    typed("unhold", "--all")
    kernel.put(SWAPPINESS, "33\n")
    assert typed("drift").code == 0


def test_a_rollback_that_did_not_get_everything_back_keeps_the_former_set_when_it_is_tried_again(
    kernel: FakeKernel,
) -> None:
    typed("apply", "b.yaml", "--yes")
    typed("apply", "a.yaml", "--yes")
    refuses = (Refuses(SWAPPINESS, errno.EBUSY), *USUAL)
    kernel.behaviours = refuses
    assert typed("rollback", "--yes").code == 2
    assert typed("drift", "--json").json["profile"] == "b"
    assert typed("rollback", "--yes").code == 2
    assert typed("drift", "--json").json["profile"] == "b"
    kernel.behaviours = USUAL
    assert typed("rollback", "--yes").code == 0
    assert (typed("drift").code, typed("drift", "--json").json["profile"]) == (0, "b")
    assert kernel.files[SWAPPINESS] == "60\n"
    assert typed("rollback", "--yes").code == 0
    assert "nothing is applied" in typed("drift").err


def test_a_set_over_an_unfinished_rollback_comes_apart_too(kernel: FakeKernel) -> None:
    typed("apply", "b.yaml", "--yes")
    typed("apply", "a.yaml", "--yes")
    kernel.behaviours = (Refuses(SWAPPINESS, errno.EBUSY), *USUAL)
    typed("rollback", "--yes")
    kernel.behaviours = USUAL
    Path("c.yaml").write_text("name: c\nsysctl: {vm.page-cluster: 0, vm.stat_interval: 7}\n")
    assert typed("apply", "c.yaml", "--yes").code == 0
    assert typed("rollback", "--run", "2", "--yes").code == 0
    assert typed("drift", "--json").json["profile"] == "b"


def test_a_captured_tree_has_no_runs_whatever_state_this_host_has(kernel: FakeKernel) -> None:
    typed("apply", "a.yaml", "--yes")
    kernel._live = False  # noqa: SLF001  # as if it were a captured one
    assert "No runs" in typed("history").out
    assert typed("rollback", "--check").out.startswith("Nothing to take back")
    assert typed("rollback", "--check", "--run", "1").code == 64


@pytest.fixture
def strict() -> Iterator[None]:
    old = os.umask(0o077)
    yield
    os.umask(old)


@pytest.mark.usefixtures("strict")
def test_the_state_is_readable_for_all_whatever_the_umask(kernel: FakeKernel, tmp_path: Path) -> None:  # noqa: ARG001
    """Else a drift without root would say that nothing is applied."""
    typed("apply", "a.yaml", "--yes")
    typed("hold", "--all", "--for", "1h")
    for path in ((tmp_path / "state"), *(tmp_path / "state").rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644), path


def test_the_cron_job_that_repairs_leaves_the_next_drift_quick(kernel: FakeKernel) -> None:
    typed("apply", "a.yaml", "--yes")
    Path("state/witness.json").unlink()
    assert not api.clean(kernel)
    assert typed("drift", "--repair").code == 0
    assert api.clean(kernel)
