"""spellings.yaml, case by case; and the proof that these cases notice a codec that takes everything for the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from numatune.settings import codecs
from numatune.settings.codecs import AnyCodec, agree, meets

Case = tuple[AnyCodec, str, list[Any]]


def _codec(spec: str | list[Any]) -> AnyCodec:
    name, fields = (spec, {}) if isinstance(spec, str) else spec
    made: AnyCodec = getattr(codecs, name)(**fields)
    return made


def _cases() -> list[Case]:
    text = (Path(__file__).parent / "spellings.yaml").read_text(encoding="utf-8")
    found = [
        (_codec(entry["codec"]), kind, case if isinstance(case, list) else [case])
        for entry in yaml.safe_load(text)
        for kind, cases in entry.items()
        if kind != "codec"
        for case in cases
    ]
    assert {kind for _, kind, _ in found} <= {
        "same",
        "different",
        "holds",
        "lacks",
        "writes",
        "back",
        "between",
        "apart",
        "no_value",
    }
    return found


CASES = _cases()


def stands(case: Case) -> bool:  # noqa: PLR0911  # one return a kind of case
    codec, kind, texts = case
    match kind:
        case "same":
            a, b = texts
            return agree(codec, a, b) and agree(codec, b, a)
        case "different":
            a, b = texts
            return not meets(codec, a, b) and not agree(codec, a, b)
        case "holds" | "lacks":
            return meets(codec, *texts) is (kind == "holds")
        case "writes":
            want, have, expected = texts
            return list(codec.spell(want, have)) == expected
        case "back":
            original, have, expected = texts
            return list(codec.back(original, have)) == expected
        case "between" | "apart":
            return codec.between(*texts) is (kind == "between")
        case _:
            return _is_no_value(codec, *texts)


def _is_no_value(codec: AnyCodec, text: str) -> bool:
    try:
        codec.same(text, text)
    except ValueError:
        return not meets(codec, text, text)
    return False


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[1]}-{case[2]}" for case in CASES])
def test_spelling(case: Case):
    assert stands(case)


def test_every_codec_has_texts_that_must_not_be_taken_for_the_same():
    assert {type(codec) for codec, kind, _ in CASES if kind == "different"} == set(AnyCodec.__args__)


@pytest.mark.parametrize("mutated", AnyCodec.__args__)
@pytest.mark.parametrize("method", ["same", "holds"])
def test_the_cases_notice_a_codec_that_takes_everything_for_the_same(
    mutated: type[AnyCodec], method: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mutated, method, lambda self, a, b: True)  # noqa: ARG005
    assert [case for case in CASES if type(case[0]) is mutated and not stands(case)]
