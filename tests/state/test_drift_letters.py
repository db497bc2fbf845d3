from __future__ import annotations

import errno

import pytest
from fakes.rows import before, change, owned_file, sysctl, thp

from numatune.engine.drift import compare
from numatune.engine.holds import respect
from numatune.settings.applied import AppliedRow, Hold
from numatune.settings.codecs import Int
from numatune.settings.drift import DriftRow
from numatune.settings.plan import Action, Change, Observation, Status

SWAPPINESS = sysctl("vm.swappiness", "10")
SETS = (Status.DRIFTED, Action.UPDATE)


def letters(row: Change, was: AppliedRow | None, **known: object) -> DriftRow:
    (found,) = compare([row], {was.setting.id: was} if was else {}, **known)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("now", "held", "rebooted", "first"),
    [
        ("10\n", "10\n", False, " "),
        ("10", " 10\n", False, " "),
        ("60\n", "10\n", False, "M"),
        (None, "10\n", False, "D"),
        ("10\n", None, False, "M"),
        (None, None, False, " "),
        ("60\n", "10\n", True, "R"),
        ("10\n", "10\n", True, " "),
        (None, "10\n", True, "R"),
        ("nonsense", "10\n", False, "M"),
    ],
)
def test_first_letter_tells_what_happened_since(
    *, now: str | None, held: str | None, rebooted: bool, first: str
) -> None:
    assert letters(change(SWAPPINESS, now), before(SWAPPINESS, held), rebooted=rebooted).letters[0] == first


def test_what_cannot_be_read_has_not_moved_as_far_as_anybody_knows() -> None:
    row = Change(SWAPPINESS, Observation(None, errno.EACCES), Status.DENIED)
    found = letters(row, before(SWAPPINESS, "10\n"))
    assert (found.letters, found.counted) == (" !", True)


def test_a_bracketed_choice_that_reads_the_same_has_not_moved() -> None:
    row = change(thp("madvise"), "always [madvise] never inherit\n")
    assert letters(row, before(thp("madvise"), "always [madvise] never\n")).letters == "  "


def test_a_setting_that_was_never_applied_says_so() -> None:
    found = letters(change(SWAPPINESS, "60\n", *SETS), None)
    assert (found.letters, found.counted) == ("-M", True)
    assert letters(change(SWAPPINESS, "60\n", *SETS), AppliedRow(SWAPPINESS)).letters == "-M"


def test_a_file_of_ours_is_not_reset_by_a_reboot() -> None:
    ours = owned_file("/etc/irqbalance.d/numatune", "a")
    assert letters(change(ours, "b", *SETS), before(ours, "a"), rebooted=True).letters == "MM"


@pytest.mark.parametrize(
    ("status", "action", "second"),
    [
        (Status.OK, Action.NONE, " "),
        (Status.PENDING, Action.NONE, " "),
        (Status.NOT_APPLICABLE, Action.NONE, " "),
        (Status.DRIFTED, Action.UPDATE, "M"),
        (Status.DRIFTED, Action.DELETE, "M"),
        (Status.DRIFTED, Action.RESTART, "M"),
        (Status.DRIFTED, Action.CREATE, "A"),
        (Status.DRIFTED, Action.RELEASE, "X"),
        (Status.DRIFTED, Action.NONE, "!"),
        (Status.UNSUPPORTED, Action.NONE, "!"),
        (Status.UNCHANGEABLE, Action.NONE, "!"),
        (Status.CLAMPED, Action.NONE, "!"),
        (Status.REBOOT, Action.NONE, "!"),
    ],
)
def test_second_letter_tells_what_apply_would_do(status: Status, action: Action, second: str) -> None:
    assert letters(change(SWAPPINESS, "10\n", status, action), before(SWAPPINESS, "10\n")).letters == " " + second


@pytest.mark.parametrize(
    "status", [Status.CLAMPED, Status.FAILED, Status.DENIED, Status.UNSUPPORTED, Status.DRIFTED, Status.REBOOT]
)
def test_what_the_last_apply_reported_is_not_counted_again(status: Status) -> None:
    found = letters(change(SWAPPINESS, "60\n", status), before(SWAPPINESS, "60\n", status))
    assert (found.letters, found.counted) == (" !", False)


@pytest.mark.parametrize("status", [Status.FAILED, Status.DENIED])
def test_what_apply_would_only_try_again_is_not_counted(status: Status) -> None:
    assert not letters(change(SWAPPINESS, "60\n", *SETS), before(SWAPPINESS, "60\n", status)).counted


@pytest.mark.parametrize("status", [Status.DRIFTED, Status.UNSUPPORTED, Status.CLAMPED])
def test_what_the_last_apply_left_alone_counts_once_apply_would_change_it(status: Status) -> None:
    """A hold has ended, running work has gone, a unit is there, a boot has made void what was learned."""
    found = letters(change(SWAPPINESS, "60\n", *SETS), before(SWAPPINESS, "60\n", status))
    assert (found.letters, found.counted) == (" M", True)


def test_what_is_still_to_be_given_back_counts_once_apply_would_do_so() -> None:
    back = sysctl("vm.swappiness", "60")
    for row, expected in (
        (change(back, "10\n", Status.DRIFTED, Action.RELEASE), (" X", True)),
        (change(back, "10\n", Status.DRIFTED), (" !", False)),
    ):
        (found,) = compare([row], {}, {back.id})
        assert (found.letters, found.counted) == expected


def test_a_reported_failure_counts_once_the_wish_is_another_one() -> None:
    row = change(sysctl("vm.swappiness", "20"), "60\n", *SETS)
    assert letters(row, before(SWAPPINESS, "60\n", Status.FAILED)).counted


def test_a_reported_clamp_counts_once_the_value_moves_again() -> None:
    pool = sysctl("vm.nr_hugepages", "512")
    assert letters(change(pool, "200\n", *SETS), before(pool, "300\n", Status.CLAMPED)).counted


def test_a_value_that_moved_to_something_just_as_good_is_shown_and_not_counted() -> None:
    floor = sysctl("vm.min_free_kbytes", "67584", codec=Int(">="))
    found = letters(change(floor, "90112\n"), before(floor, "67584\n"))
    assert (found.letters, found.counted) == ("M ", False)


def test_an_optional_setting_never_counts_and_a_gone_one_does() -> None:
    maybe = sysctl("vm.swappiness", "10", optional=True)
    assert not letters(change(maybe, "60\n", *SETS), before(maybe, "10\n")).counted
    found = letters(change(SWAPPINESS, None, Status.UNSUPPORTED), before(SWAPPINESS, "10\n"))
    assert (found.letters, found.counted) == ("D!", True)


def test_what_apply_would_now_release_counts() -> None:
    back = sysctl("vm.swappiness", "60")
    found = letters(change(back, "10\n", Status.DRIFTED, Action.RELEASE), before(SWAPPINESS, "10\n"))
    assert (found.letters, found.counted) == (" X", True)


def test_companions_are_no_rows() -> None:
    assert compare([change(sysctl("vm.dirty_ratio", None), "20\n")], {}) == ()


def test_a_held_row_is_told_and_not_counted_until_the_hold_ends() -> None:
    row, was = change(SWAPPINESS, "60\n", *SETS, writes=("10",)), before(SWAPPINESS, "10\n")
    hold = Hold(SWAPPINESS.id, "alice", "2026-01-01T00:00:00Z", "2026-01-01T04:00:00Z", "test")
    during = letters(*respect([row], [hold], "2026-01-01T03:59:59Z"), was)
    assert (during.letters, during.counted) == ("M!", False)
    assert during.change.held == "held by alice until 2026-01-01 04:00:00 UTC: test"
    after = letters(*respect([row], [hold], "2026-01-01T04:00:00Z"), was)
    assert (after.letters, after.counted, after.change.held) == ("MM", True, "")
