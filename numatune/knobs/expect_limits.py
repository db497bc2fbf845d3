"""What an expectation may say of a number: exactly so many, at least, at most."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema

from numatune.settings.codecs import Speed, bytes_of

Operator = Literal["=", ">=", "<="]
_OPERATORS: Final[dict[str | None, Operator]] = {None: "=", ">=": ">=", "<=": "<="}
_LIMIT: Final = re.compile(r"(?:(>=|<=)\s*)?(\S.*)\Z", re.ASCII)
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_THREADS: Final = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,60}", re.ASCII)
_MOST: Final = "max"
"""As much as both ends of a link can."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`text`: the number as its codec spells it; "max" of a link."""

    op: Operator
    text: str


_SMT: Final = {"on": Limit(">=", "2"), "off": Limit("=", "1")}


def _limit(spelled: Callable[[str], str], accepted: str, types: tuple[type, ...]) -> Callable[[Any], Limit]:
    def read(value: Any) -> Limit:
        if isinstance(value, Limit):
            return value
        found = _LIMIT.match(str(value)) if isinstance(value, types) and not isinstance(value, bool) else None
        with contextlib.suppress(ValueError):
            if found:
                return Limit(_OPERATORS[found[1]], spelled(found[2]))
        shown = repr(value) if isinstance(value, str) else str(value).lower()
        raise ValueError(f"{shown}; accepted: {accepted}")

    return read


def _count(text: str) -> str:
    if not _COUNT.fullmatch(text):
        raise ValueError(text)
    return text


def _threads(text: str) -> str:
    if not _THREADS.fullmatch(text):
        raise ValueError(text)
    return text


def _word_of_smt(value: Any) -> Any:
    return _SMT.get(value, value) if isinstance(value, str) else value


def _bytes(text: str) -> str:
    size = bytes_of(text)
    if size is None:
        raise ValueError(text)
    return str(size)


def _lanes(text: str) -> str:
    return text if text == _MOST else _count(text)


def _speed(text: str) -> str:
    return text if text == _MOST else Speed().show(text)


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise ValueError(text)
    return text


def _schema(description: str, *types: str) -> WithJsonSchema:
    return WithJsonSchema({"description": description, "type": [*types, "string"]})


_SIDES: Final = '">= N" or "<= N"'
Count = Annotated[
    Limit,
    BeforeValidator(_limit(_count, f"a number, {_SIDES}", (int, str))),
    _schema(f"A number, {_SIDES}", "integer"),
]
Bytes = Annotated[
    Limit,
    BeforeValidator(_limit(_bytes, f"bytes like 64G, {_SIDES}", (int, str))),
    _schema(f"Bytes like 64G, {_SIDES}", "integer"),
]
Smt = Annotated[
    Limit,
    BeforeValidator(_limit(_threads, f"on, off, threads of a core, {_SIDES}", (int, str))),
    BeforeValidator(_word_of_smt),
    _schema(f"on, off, threads of a core, {_SIDES}", "integer", "boolean"),
]
"""Editors that speak YAML 1.1 take on and off for true and false."""
Lanes = Annotated[
    Limit,
    BeforeValidator(_limit(_lanes, f"max, a number, {_SIDES}", (int, str))),
    _schema(f"max, a number of lanes, {_SIDES}", "integer"),
]
GigaTransfers = Annotated[
    Limit,
    BeforeValidator(_limit(_speed, f"max, GT/s like 16 or 2.5, {_SIDES}", (int, float, str))),
    _schema(f"max, GT/s like 16 or 2.5, {_SIDES}", "number"),
]
ModuleVersion = Annotated[
    Limit,
    BeforeValidator(_limit(_version, f'a version in quotes, like "550.54.14", {_SIDES}', (int, str))),
    _schema(f"A version like 550.54.14, {_SIDES}", "integer"),
]
AT_LEAST_ONE: Final = Limit(">=", "1")
