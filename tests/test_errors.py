from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from numatune.errors import did_you_mean

CASES = yaml.safe_load((Path(__file__).parent / "misspelt.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("word", "known", "taken"),
    [
        pytest.param(word, case["known"], taken, id=f"{word}-{taken}")
        for case in CASES
        for word, taken in case["taken"].items()
    ],
)
def test_a_misspelt_word_is_taken_for_one_near_it_or_for_none(word: str, known: list[str], taken: str | None) -> None:
    assert did_you_mean(word, known) == (f"did you mean {taken}?" if taken else "")
