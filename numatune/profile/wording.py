"""What pydantic complains of, in words: what was found, what is accepted instead, and a hint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from numatune.errors import Problem, did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAPPINGS: Final = frozenset({"dict_type", "mapping_type", "model_type", "model_attributes_type"})
_LISTS: Final = frozenset({"list_type", "tuple_type"})
_WHOLE: Final = frozenset({"int_type", "int_from_float", "int_parsing"})
TYPES: Final = {
    **dict.fromkeys(MAPPINGS, "a mapping"),
    **dict.fromkeys(_LISTS, "a list"),
    **dict.fromkeys(_WHOLE, "a whole number"),
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "string_sub_type": "text",
    "none_required": "null",
    "string_too_short": "a longer text",
    "string_too_long": "a shorter text",
    "too_short": "more items",
    "too_long": "fewer items",
}
"""What is accepted where something is of another type or size."""
_LIMITS: Final = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "string_pattern_mismatch": "text like {pattern}",
}
_KEY_AND_VALUE: Final = re.compile(r"[^\s:=]+\s*[:=]\s*\S")
_LONGEST: Final = 80


def told(errors: Sequence[ErrorDetails], keys: Sequence[str]) -> Problem:
    """One Problem of all that is said of one place. `keys`: those that a mapping there can have."""
    value = errors[0]["input"]
    accepted = list(dict.fromkeys(_accepted(error, keys) for error in errors))
    return Problem("", found_text(value), " or ".join(accepted), _hint(value, errors))


def found_text(value: Any) -> str:
    """A value as a person would call it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."
        case Mapping():
            return "a mapping" if value else "an empty mapping"
        case list() | tuple():
            return "a list"
        case None:
            return "null"
    return str(value)


def _accepted(error: ErrorDetails, keys: Sequence[str]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"literal_error", "enum"}:
        return ", ".join(_words(error))
    if kind in _LIMITS:
        return _LIMITS[kind].format(**context)
    if kind in MAPPINGS and keys:
        return f"a mapping with {', '.join(keys)}"
    return TYPES.get(kind) or error["msg"].removeprefix("Input should be ")


def _words(error: ErrorDetails) -> list[str]:
    """The words of a choice."""
    if error["type"] not in {"literal_error", "enum"}:
        return []
    return str(error.get("ctx", {}).get("expected", "")).replace("'", "").replace(" or ", ", ").split(", ")


def _hint(value: Any, errors: Sequence[ErrorDetails]) -> str:
    kinds = {error["type"] for error in errors}
    words = [word for error in errors for word in _words(error)]
    hint = ""
    match value:
        case bool() if kinds & _WHOLE:
            hint = f"write {int(value)}"
        case bool() | int() | float() if "string_type" in kinds:
            hint = f'write "{found_text(value)}"'
        case str() if kinds & _WHOLE and value.isdecimal():
            hint = f"write {value} without quotes"
        case str() if kinds & MAPPINGS and _KEY_AND_VALUE.match(value):
            hint = "write KEY: VALUE, with a blank after the colon"
        case str() if kinds & _LISTS and "\n" not in value:
            hint = f"write [{value}]"
        case str():
            hint = f"write {value.lower()}" if value.lower() in words else did_you_mean(value.lower(), words)
        case Mapping() if kinds & _LISTS:
            hint = "begin each item with - and a blank"
        case Mapping() if "value" in value:
            hint = "why, optional and when stand beside it, not below"
    return hint
