from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.engine import when


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("4h", 14400), ("2d", 172800), ("366d", 366 * 86400)]
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert when.seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "10", "10 m", "1.5h", "-1m", "+1m", "0s", "367d", "10M", "1w", "1h30m", "٣s"]
)
def test_anything_else_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="accepted"):
        when.seconds(text)


@given(st.integers(1, 366 * 86400))
def test_spelling_a_duration_keeps_it(duration: int) -> None:
    assert when.seconds(when.spelled(duration)) == duration


def test_later_times_compare_later_as_text() -> None:
    assert when.stamp(-when.DAY) < when.stamp() < when.stamp(1.5)
    assert when.for_people("2026-11-29T14:03:00Z") == "2026-11-29 14:03:00 UTC"
