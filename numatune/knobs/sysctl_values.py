"""What a sysctl is to hold: a value of the profile as canonical text with its codec, or why it is none."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from numatune.cpus import CpuSet
from numatune.knobs.sysctl_catalogue import Known
from numatune.settings.codecs import AnyCodec, Count, CpuList, Int, Words

_NUMBER: Final = re.compile(r"(?:(>=|<=)\s*)?(-?(?:0|[1-9][0-9]*))\Z", re.ASCII)
_NOT_DECIMAL: Final = re.compile(
    r"(?:[<>]=)?\s*[-+]?(0x[0-9a-f]{1,16}|0o[0-7]{1,21}|0b[01]{1,64}|0[0-9]{1,19})\Z", re.IGNORECASE | re.ASCII
)
_OPERATOR: Final = re.compile(r"\s*[<>=]")
_OPERATORS: Final[dict[str | None, Literal["=", ">=", "<="]]] = {None: "=", ">=": ">=", "<=": "<="}
_MAX_TEXT: Final = 1000


def typed(value: Any, known: Known) -> tuple[str, AnyCodec]:
    """Canonical text and codec of a wanted value. Raises ValueError: ``found; accepted: ...; hint: ...``."""
    accepted = accepted_by(known)
    match value:
        case bool():
            raise ValueError(f"{str(value).lower()}; accepted: {accepted}; hint: write {int(value)}")
        case CpuSet() if known.type in {"cpulist", "any"}:
            return str(value), CpuList()
        case list() | tuple() if known.type in {"words", "any"}:
            return _words(" ".join(_word(item, accepted) for item in value), known)
        case int() if known.type in {"int", "any"}:
            return _in_range(value, "=", known), Count() if known.pool else Int()
        case int() | str():
            return _from_text(str(value), known)
    raise ValueError(f"{_called(value)}; accepted: {accepted}")


def _from_text(text: str, known: Known) -> tuple[str, AnyCodec]:
    accepted = accepted_by(known)
    if not text.isprintable() or len(text) > _MAX_TEXT:
        raise ValueError(f"{text[:80]!r}; accepted: {accepted}, in one line of printable text")
    number = _NUMBER.match(text.strip())
    match known.type:
        case "cpulist":
            return str(CpuSet.parse(text)), CpuList()
        case "choice" if text in known.choices:
            return text, Words()
        case "words":
            return _words(text, known)
        case "int" | "any" if number:
            operator = _OPERATORS[number[1]]
            return _in_range(int(number[2]), operator, known), Count(operator) if known.pool else Int(operator)
        case "any" if not _OPERATOR.match(text) and not _trap(text):
            return _words(text, known)
    raise ValueError(f"{text!r}; accepted: {accepted}{_hint(text)}")


def _in_range(value: int, operator: str, known: Known) -> str:
    accepted = accepted_by(known)
    if operator != "=" and not known.ordered:
        raise ValueError(f"{operator} {value}; accepted: {accepted}; hint: it is a mode, so more is not better")
    low = known.min is None or value >= known.min or (known.or_zero and value == 0)
    if not low or (known.max is not None and value > known.max):
        raise ValueError(f"{value}; accepted: {accepted}")
    return str(value)


def _words(text: str, known: Known) -> tuple[str, AnyCodec]:
    codec = Words()
    shown = codec.show(text)
    if known.words is not None and len(shown.split()) != known.words:
        raise ValueError(f"{text!r}; accepted: {accepted_by(known)}")
    if known.words is not None and (trap := next(filter(_trap, shown.split()), "")):
        raise ValueError(f"{trap!r} in {text!r}; accepted: {accepted_by(known)}{_hint(trap)}")
    return shown, codec


def _word(item: Any, accepted: str) -> str:
    if isinstance(item, bool) or not isinstance(item, int | str) or not str(item).isprintable():
        raise ValueError(f"{_called(item)} in a list; accepted: {accepted}")
    return str(item)


def accepted_by(known: Known) -> str:
    """What a key takes, for people."""
    match known.type:
        case "cpulist":
            return "a list of CPUs like 0-3,8"
        case "choice":
            return ", ".join(known.choices)
        case "words":
            return f"{known.words} words" if known.words else "words"
        case "any":
            return "a whole number, a text, or a list of them"
        case "int":
            pass
    operators = ', or a bound like ">= N"' if known.ordered else ""
    if known.min is None and known.max is None:
        return f"a whole number{operators}"
    zero = "0 or " if known.or_zero else ""
    return f"{zero}{known.min} to {known.max}{operators}"


def _called(value: Any) -> str:
    return "a set of CPUs" if isinstance(value, CpuSet) else "a list" if isinstance(value, list | tuple) else str(value)


def _trap(text: str) -> str:
    """A number that kernels read otherwise than people: 010 is 8 to them, 0x10 is 16 and reads back as that."""
    match = _NOT_DECIMAL.match(text.strip())
    return match[1] if match else ""


def _hint(text: str) -> str:
    trap = _trap(text)
    value = int(trap) if trap.isdecimal() else int(trap or "0", 0)
    return f"; hint: numbers are decimal: write {value}" if trap else ""
