"""Faults of other tuners that would be the command line's to make."""

from __future__ import annotations

from pathlib import Path

from fakes.commands import typed
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two


def test_a_difference_is_named_item_by_item(kernel: FakeKernel) -> None:  # noqa: ARG001
    """TuneD #342, #350, #880: a verification that failed without a word of what differs."""
    told = typed("plan", "three.yaml")
    assert told.code == 2
    for item in ("vm.swappiness     60 → 10", "vm.stat_interval  1 → 10", "defrag            madvise → never"):
        assert item in told.out


def test_what_does_not_apply_is_no_failure(kernel: FakeKernel, tmp_path: Path) -> None:  # noqa: ARG001
    """sap-automation #602, saptune #37: "not applicable" made a check fail."""
    (tmp_path / "na.yaml").write_text("name: na\nsysctl: {vm.swappiness: {value: 1, when: {virt: kvm}}}\n")
    for command in (["plan", "na.yaml"], ["apply", "na.yaml", "--yes"], ["drift"]):
        assert typed(*command).code == 0
    (row,) = typed("plan", "na.yaml", "--json").json["settings"]
    assert (row["status"], row["action"]) == ("not-applicable", "none")


def test_a_dry_run_shows_the_difference_and_changes_nothing(kernel: FakeKernel) -> None:
    """TuneD #65, bpftune #19: asked for a dry run that shows what would change."""
    before = kernel.state()
    for command in (["plan", "three.yaml"], ["apply", "three.yaml", "--check"]):
        told = typed(*command)
        assert told.code == 2
        assert "60 → 10" in told.out
    assert kernel.state() == before
    assert kernel.log == []
